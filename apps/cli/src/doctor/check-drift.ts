import { setTimeout as pause } from "node:timers/promises";
import { failed, find, ok, skipped, type Finding } from "./finding.js";

/** What the server says of the agreement of trees and vectors. Times are RFC 3339. */
type Drift =
  | { readonly stores: "together" }
  | {
      readonly stores: "apart";
      readonly points: number;
      readonly memories: number;
      readonly pendingRows: number;
      readonly retriedRows?: number;
      readonly askedAt?: string;
      readonly startedAt?: string;
      readonly finishedAt?: string;
    };

type ApartDrift = Extract<Drift, { readonly stores: "apart" }>;

/** How `doctor` goes about differences between the stores. */
export interface DriftOptions {
  readonly url: string;
  readonly key: string | undefined;
  readonly mode: "look" | "repair";
  /** How long a repair is followed; it goes on without being watched. */
  readonly followMs?: number;
}

const ANSWER_MS = 10_000;
const FOLLOW_MS = 600_000;
const POLL_MS = 500;

/**
 * Whether trees and vectors agree, where they lie apart; `repair` has the server compare all memories, repair them by jobs,
 * and waits for it. Where one transaction writes both there is nothing to say, unless a repair was asked for.
 */
export async function checkDrift(options: DriftOptions): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  const found = await find("points", async () => {
    const first = await ask(options, options.mode === "repair" ? "POST" : "GET");
    if (first === "forbidden") return skipped("the key lacks the scope operator: give another one with --key");
    if (first.stores === "together") return skipped("trees and vectors share their transactions: nothing can differ");
    const retried = first.retriedRows ?? 0;
    if (retried > 0)
      findings.push({ check: "outbox", ...ok(`${retried} texts that had been given up are tried again`) });
    return options.mode === "repair" ? repaired(options, first) : seen(first);
  });
  const isNothing = options.mode === "look" && found.state === "skipped";
  return isNothing ? [] : [...findings, found];
}

function seen({ points, memories, pendingRows, finishedAt }: ApartDrift): Omit<Finding, "check"> {
  const waiting = `${pendingRows} texts wait for score workers`;
  if (points > 0) {
    return failed(`${points} points of ${memories} memories differ from their trees (${waiting}): add --repair`);
  }
  const when = finishedAt === undefined ? "not compared yet" : `as compared until ${finishedAt}`;
  return ok(`the vector store agrees with the trees, ${when}; ${waiting}`);
}

/** Follows the comparison that was asked for, and the jobs that it starts. */
async function repaired(options: DriftOptions, asked: ApartDrift): Promise<Omit<Finding, "check">> {
  const deadline = Date.now() + (options.followMs ?? FOLLOW_MS);
  let most = asked.points;
  while (Date.now() < deadline) {
    const now = await ask(options, "GET");
    if (now === "forbidden" || now.stores === "together") break;
    most = Math.max(most, now.points);
    if (isCompared(now, asked.askedAt ?? "") && now.points === 0) {
      return ok(
        most === 0
          ? "all memories were compared, the vector store agrees with the trees"
          : `${most} points differed and were repaired; ${now.pendingRows} texts wait for score workers`,
      );
    }
    await pause(POLL_MS);
  }
  return failed(
    "the comparison is not over yet: look again with bin/espalier doctor; does a worker have the role maintain?",
  );
}

/** Whether a comparison that began after it was asked for is over. The server writes all times alike, so texts compare. */
function isCompared({ startedAt = "", finishedAt = "" }: ApartDrift, askedAt: string): boolean {
  return startedAt >= askedAt && finishedAt >= startedAt;
}

async function ask({ url, key }: DriftOptions, method: "GET" | "POST"): Promise<Drift | "forbidden"> {
  const path = method === "GET" ? "/v1/admin/drift" : "/v1/admin/drift/repair";
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const response = await fetch(new URL(path, url), { method, headers, signal: AbortSignal.timeout(ANSWER_MS) });
  if (response.status === 401 || response.status === 403) return "forbidden";
  if (!response.ok) throw new Error(`the server answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Drift;
}
