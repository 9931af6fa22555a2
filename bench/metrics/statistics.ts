import { mean, quantile, sampleStandardDeviation } from "simple-statistics";

/** Standard errors of a 95 % interval of a mean of many values. */
const NORMAL_95 = 1.96;

/** Times of one kind of call, in milliseconds. */
export interface Latency {
  readonly count: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

/** Quantiles of at least one time, rounded to a microsecond. */
export function latency(milliseconds: readonly number[]): Latency {
  const at = (share: number): number => roundTo(quantile([...milliseconds], share), 3);
  return { count: milliseconds.length, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
}

/** The mean difference of two measures of the same items, with its 95 % interval and how often either was larger. */
export interface PairedDifference {
  readonly difference: number;
  readonly low: number;
  readonly high: number;
  readonly better: number;
  readonly worse: number;
  readonly equal: number;
}

/** `first` minus `second`, item by item; both of the same length, at least 2. */
export function pairedDifference(first: readonly number[], second: readonly number[]): PairedDifference {
  if (first.length !== second.length) {
    throw new RangeError(`pairs need equal lengths, got ${first.length} and ${second.length}`);
  }
  const differences = first.map((value, index) => value - (second[index] ?? 0));
  const difference = mean(differences);
  const margin = (NORMAL_95 * sampleStandardDeviation(differences)) / Math.sqrt(differences.length);
  return {
    difference: roundTo(difference, 4),
    low: roundTo(difference - margin, 4),
    high: roundTo(difference + margin, 4),
    better: differences.filter((value) => value > 0).length,
    worse: differences.filter((value) => value < 0).length,
    equal: differences.filter((value) => value === 0).length,
  };
}

/** Rounded to `digits` after the point. */
export function roundTo(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
