import type { JobName } from "./job-names.js";

/** Makes of a payload of one version what the next version has in its place. */
export type PayloadUpgrade = (payload: unknown) => unknown;

/** By job name, one step for each version after the first; absent: there is one version. */
export type PayloadUpgrades = Readonly<Partial<Record<JobName, readonly PayloadUpgrade[]>>>;

/**
 * How payloads of older releases are read. While a deployment is rolled, processes of two releases share the queues: a job
 * carries the version of its payload, a worker brings older ones up to its own, and gives newer ones back until a newer
 * worker takes them. A change of a payload that older workers would refuse or misread adds its step here.
 */
export const PAYLOAD_UPGRADES: PayloadUpgrades = {};

/** The version of the payloads that a process with these steps makes, and the newest that it reads. */
export function payloadVersion(upgrades: PayloadUpgrades, name: string): number {
  return 1 + stepsOf(upgrades, name).length;
}

/** A payload of a version that is not newer than `payloadVersion`, as that version has it. */
export function upgradePayload(upgrades: PayloadUpgrades, name: string, payload: unknown, version: number): unknown {
  return stepsOf(upgrades, name)
    .slice(version - 1)
    .reduce((older, step) => step(older), payload);
}

/** A name that no queue has can come from a payload. */
function stepsOf(upgrades: PayloadUpgrades, name: string): readonly PayloadUpgrade[] {
  return Object.hasOwn(upgrades, name) ? (upgrades[name as JobName] ?? []) : [];
}
