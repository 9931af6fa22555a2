import { createMetrics } from "#telemetry";

/** A metric as `/metrics` shows it. */
export interface Exported {
  readonly help: string;
  readonly type: string;
}

/** What `/metrics` of an API and of a worker export: names of series with their family. Rendered, not listed. */
export async function exportedSeries(): Promise<ReadonlyMap<string, Exported>> {
  const clock = { now: () => 0 };
  const [api, worker] = [createMetrics("api", clock), createMetrics("worker-score", clock)];
  api.include(() => worker.snapshot());
  const text = await api.metrics();
  const helps = new Map([...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name, help]) => [name, help ?? ""]));
  const series = new Map<string, Exported>();
  for (const [, name = "", type = ""] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    const names = type === "histogram" ? ["_bucket", "_sum", "_count"].map((end) => name + end) : [name];
    for (const each of names) series.set(each, { help: helps.get(name) ?? "", type });
  }
  return series;
}
