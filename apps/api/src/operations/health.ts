import { inTime } from "#core";
import type { Dependency } from "../dependencies.js";
import type { ReadyShape } from "../wire/health.js";

/** A dependency that has not answered after this long is down. */
const CHECK_TIMEOUT_MS = 2_000;

/**
 * A check that several can ask for at once: those that come while one is under way share its answer. Anybody may ask, so
 * that many who do cost the dependencies no more than one.
 */
export function sharedHealthCheck(dependencies: readonly Dependency[]): () => Promise<ReadyShape> {
  let running: Promise<ReadyShape> | undefined;
  return () => {
    running ??= checkHealth(dependencies).finally(() => {
      running = undefined;
    });
    return running;
  };
}

/** Asks every dependency at once, each within its time-out. */
async function checkHealth(dependencies: readonly Dependency[]): Promise<ReadyShape> {
  const checks = await Promise.all(
    dependencies.map(async (dependency) => [dependency.name, await check(dependency)] as const),
  );
  const status = checks.every(([, result]) => result.state === "up") ? "ready" : "unavailable";
  return { status, dependencies: Object.fromEntries(checks) };
}

async function check(dependency: Dependency): Promise<ReadyShape["dependencies"][string]> {
  const start = performance.now();
  const state = await inTime(dependency.check(), CHECK_TIMEOUT_MS, () => new Error("no answer in time")).then(
    () => "up" as const,
    () => "down" as const,
  );
  return { state, latencyMs: Math.round((performance.now() - start) * 1_000) / 1_000 };
}
