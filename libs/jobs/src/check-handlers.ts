import { JOB_NAMES, queuesOf } from "./job-names.js";
import type { JobHandler, JobKind } from "./types.js";

/** One handler and the job name that it serves. */
export interface NamedHandler {
  readonly name: string;
  readonly handle: JobHandler;
}

/**
 * The handlers of some roles by job name.
 * @throws Error naming every job name of their queues that has no handler or more than one, and every handler of a name
 * that no queue has: such a worker must not start
 */
export function checkHandlers(
  roles: readonly JobKind[],
  handlers: readonly NamedHandler[],
): ReadonlyMap<string, JobHandler> {
  const wanted: readonly string[] = queuesOf(roles).flatMap((queue) => JOB_NAMES[queue]);
  const known: ReadonlySet<string> = new Set(Object.values(JOB_NAMES).flat());
  const problems = [
    ...wanted.flatMap((name) => {
      const count = handlers.filter((handler) => handler.name === name).length;
      return count === 1 ? [] : [`the job "${name}" has ${count === 0 ? "no handler" : `${count} handlers`}`];
    }),
    ...handlers.filter(({ name }) => !known.has(name)).map(({ name }) => `no queue has a job "${name}"`),
  ];
  if (problems.length > 0) throw new Error(`The worker cannot start: ${problems.join("; ")}.`);
  return new Map(handlers.map(({ name, handle }) => [name, handle]));
}
