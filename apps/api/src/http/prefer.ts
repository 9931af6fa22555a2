import type { FastifyReply, FastifyRequest } from "fastify";
import { LIMITS } from "#core";

/** How long a request waits for its job, in seconds, and what `Preference-Applied` says of it. */
export interface Wait {
  readonly seconds: number;
  readonly applied: string | undefined;
}

/** Seconds that are waited when the request says nothing. */
const DEFAULT_WAIT_SECONDS = { read: LIMITS.defaultReadWaitSeconds, write: 0 } as const;

/**
 * `Prefer: wait=N` (RFC 7240). The first `wait` counts; other preferences and malformed ones are ignored, as the RFC
 * asks. More than the limit is clamped, which `applied` says.
 */
export function parseWait(header: string | readonly string[] | undefined, kind: "read" | "write"): Wait {
  const text = typeof header === "string" ? header : (header ?? []).join(",");
  for (const preference of text.split(",")) {
    const match = /^\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:;.*)?$/i.exec(preference);
    if (match === null) continue;
    const seconds = Math.min(Number(match[1]), LIMITS.waitSeconds);
    return { seconds, applied: `wait=${seconds}` };
  }
  return { seconds: DEFAULT_WAIT_SECONDS[kind], applied: undefined };
}

/** Reads the preference of a request and says in the answer what was made of it. Answers milliseconds. */
export function applyWait(request: FastifyRequest, reply: FastifyReply, kind: "read" | "write"): number {
  const wait = parseWait(request.headers["prefer"], kind);
  if (wait.applied !== undefined) reply.header("preference-applied", wait.applied);
  return wait.seconds * 1_000;
}
