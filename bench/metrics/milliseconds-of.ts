import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as NonNullable<typeof globalThis.gc>;

/**
 * How long work takes that is over in some milliseconds. Young garbage of what came before is collected first: that takes as
 * long, and would fall upon whoever comes next.
 */
export async function millisecondsOf(work: () => unknown): Promise<number> {
  collect({ type: "minor" });
  const started = performance.now();
  await work();
  return performance.now() - started;
}
