/** Runs that show how tenants share the workers: what is served to those with equal backlogs, and who waits beside a flood. */
import { setTimeout as pause } from "node:timers/promises";
import { sum } from "simple-statistics";
import { createTenantJobs, JOB_SETTINGS, type JobContext, type JobKind } from "#jobs";
import { openJobs, type SubmittedJob } from "./jobs-under-test.js";

/** Jobs are of many sizes: their characters go round in steps that share no divisor with their number. */
const SIZES = 61;
const SIZE_STEP = 16;

const charactersOf = (number: number): number => ((number * 7) % SIZES) * SIZE_STEP;

/** What admission takes a job of so many characters to cost, but for a constant: equal for all tenants in these runs. */
const costOf = (characters: number): number => 25 + characters / 4;

/** The settings that decide how many jobs are ahead of their turn. */
const { window } = JOB_SETTINGS.lanes.interactive;

export interface SharesOptions {
  readonly redis: string;
  readonly prefix: string;
  /** Weight by tenant. */
  readonly weights: Readonly<Record<string, number>>;
  /** Jobs of each tenant. */
  readonly jobs: number;
}

/**
 * Cost that tenants with equal backlogs were served, by tenant: from when the jobs that were let through before the others
 * came have begun, for as long as all of them had jobs waiting.
 */
export async function servedCosts(options: SharesOptions): Promise<ReadonlyMap<string, number>> {
  const tenants = Object.keys(options.weights);
  await using jobs = openJobs(options.redis, options.prefix, "query");
  const tenantJobs = createTenantJobs({ redis: options.redis, settings: { prefix: options.prefix } });
  for (const [tenant, weight] of Object.entries(options.weights)) await tenantJobs.setWeight(tenant, weight);
  tenantJobs.close();
  const all = Array.from({ length: options.jobs }, (_, number) =>
    tenants.map((tenant): SubmittedJob => ({ tenant, characters: charactersOf(number) })),
  ).flat();
  await jobs.submit(all);
  const served = new Map(tenants.map((tenant) => [tenant, 0]));
  const left = new Map(tenants.map((tenant) => [tenant, options.jobs]));
  const { promise: over, resolve: end } = Promise.withResolvers<undefined>();
  let [begun, counting] = [0, true];
  await jobs.work(async (payload, { tenant }: JobContext) => {
    begun += 1;
    const mine = (left.get(tenant) ?? 0) - 1;
    left.set(tenant, mine);
    // The last ones of a tenant may all be in flight: then it waits for nothing any more.
    if (mine < window) counting = false;
    if (counting && begun > window) {
      served.set(tenant, (served.get(tenant) ?? 0) + costOf((payload as { readonly text: string }).text.length));
    }
    if (begun === all.length) end(undefined);
    return {};
  });
  await over;
  return served;
}

/** Jain's index of fairness: 1 when all are equal, 1/n when one has everything. */
export function jainIndex(values: readonly number[]): number {
  return sum([...values]) ** 2 / (values.length * sum(values.map((value) => value * value)));
}

export interface FloodOptions {
  readonly redis: string;
  readonly prefix: string;
  readonly kind: JobKind;
  /** Jobs of the tenant that floods; 0: the others are by themselves. */
  readonly flood: number;
  readonly small: number;
  /** Between two jobs of a small tenant, on average. */
  readonly everyMs: number;
  readonly serviceMs: number;
  /** How long it lasts at least; with a flood, until the flood is over. */
  readonly forMs: number;
}

/** Waits from submit to the start of a run of the small tenants' jobs, in milliseconds. */
export async function smallTenantsWaits(options: FloodOptions): Promise<readonly number[]> {
  const { serviceMs, flood, everyMs } = options;
  await using jobs = openJobs(options.redis, options.prefix, options.kind);
  const waits: number[] = [];
  let [served, running] = [0, true];
  const { promise: floodOver, resolve: end } = Promise.withResolvers<undefined>();
  await jobs.work(async (_payload, { tenant, createdAt }) => {
    const wait = Date.now() - createdAt;
    if (tenant === FLOODING) {
      served += 1;
      if (served === flood) end(undefined);
    } else if (running) {
      waits.push(wait);
    }
    // Between half and one and a half of the mean.
    await pause(serviceMs * (0.5 + ((served * 7 + waits.length) % SIZES) / SIZES));
    return {};
  });
  const submitting: Promise<unknown>[] = [];
  const flooding =
    flood === 0 ? pause(options.forMs) : jobs.submit(Array.from({ length: flood }, () => ({ tenant: FLOODING })));
  const small = Array.from({ length: options.small }, async (_, number) => {
    for (let at = number; running; at += 1) {
      submitting.push(jobs.submit([{ tenant: `ten_small_${number}` }]));
      await pause(everyMs * (0.5 + ((at * 7) % SIZES) / SIZES));
    }
  });
  await flooding;
  if (flood > 0) await floodOver;
  running = false;
  await Promise.all([...small, ...submitting]);
  return waits;
}

const FLOODING = "ten_flood";

/** Places in the order of runs of the jobs that small tenants submit after a flood, from 1; and how many jobs ran in all. */
export async function placesAfterFlood(options: {
  readonly redis: string;
  readonly prefix: string;
  readonly flood: number;
  readonly small: number;
  /** Jobs of each small tenant. */
  readonly jobs: number;
}): Promise<readonly number[]> {
  await using jobs = openJobs(options.redis, options.prefix, "query");
  await jobs.submit(Array.from({ length: options.flood }, () => ({ tenant: FLOODING })));
  const small = Array.from({ length: options.small * options.jobs }, (_, at) => ({
    tenant: `ten_small_${at % options.small}`,
  }));
  await jobs.submit(small);
  const places: number[] = [];
  let begun = 0;
  const { promise: over, resolve: end } = Promise.withResolvers<undefined>();
  await jobs.work(async (_payload, { tenant }) => {
    begun += 1;
    if (tenant !== FLOODING) places.push(begun);
    if (begun === options.flood + small.length) end(undefined);
    return {};
  });
  await over;
  return places;
}
