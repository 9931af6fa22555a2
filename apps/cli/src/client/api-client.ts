import { setTimeout as pause } from "node:timers/promises";
import { CommandError } from "../command-error.js";
import { problemText, type Problem } from "./problem.js";

/** A memory, as far as the command line shows it. */
export interface MemoryAnswer {
  readonly id: string;
  readonly name: string;
  readonly structure: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly revision: number;
  readonly nodes: number;
  readonly tokens: number;
  readonly createdAt: string;
}

/** A page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor?: string;
}

/** A job, as far as the command line follows it. */
export interface JobAnswer {
  readonly id: string;
  readonly state: "queued" | "active" | "completed" | "failed" | "dead" | "cancelled";
  readonly progress: { readonly done: number; readonly total: number };
  readonly result?: { readonly revision: number; readonly inserted: number; readonly roots: readonly string[] };
  readonly error?: Problem;
}

/** Tries of a request that the server asked to repeat, and the longest pause it can ask for. */
const TRIES = 5;
const LONGEST_PAUSE_MS = 10_000;
const FOLLOW_MS = 150;

interface Call {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Calls the HTTP API. Problems become a CommandError with what the server said. */
export class ApiClient {
  constructor(
    readonly url: string,
    private readonly key: string | undefined,
  ) {}

  /**
   * One call; repeated on 429 and 503 as the server asks when it is safe: reads, and writes with an Idempotency-Key.
   * @throws CommandError
   */
  async call<T>(path: string, call: Call = {}): Promise<T> {
    const method = call.method ?? "GET";
    const repeatable = method === "GET" || call.headers?.["idempotency-key"] !== undefined;
    for (let attempt = 1; ; attempt++) {
      const response = await this.#fetch(path, method, call);
      if (response.ok) return (response.status === 204 ? undefined : await response.json()) as T;
      if (repeatable && attempt < TRIES && (response.status === 429 || response.status === 503)) {
        const seconds = Number(response.headers.get("retry-after") ?? attempt);
        await pause(Math.min(LONGEST_PAUSE_MS, (Number.isFinite(seconds) ? seconds : 1) * 1_000));
        continue;
      }
      const problem = await problemIn(response);
      throw new CommandError(problemText(problem, response.status), { problem });
    }
  }

  /** Follows a job to its end. @throws CommandError if it did not complete */
  async followJob(id: string, onProgress: (progress: JobAnswer["progress"]) => void): Promise<JobAnswer> {
    for (;;) {
      const job = await this.call<JobAnswer>(`/v1/jobs/${id}`);
      onProgress(job.progress);
      if (job.state === "completed") return job;
      if (job.state !== "queued" && job.state !== "active") {
        const problem = job.error ?? {};
        throw new CommandError(problemText(problem), { problem }).of(`The job ${id} ended as ${job.state}`);
      }
      await pause(FOLLOW_MS);
    }
  }

  async #fetch(path: string, method: string, call: Call): Promise<Response> {
    const headers = {
      ...(this.key !== undefined && { authorization: `Bearer ${this.key}` }),
      ...(call.body !== undefined && { "content-type": "application/json" }),
      ...call.headers,
    };
    try {
      return await fetch(new URL(path, this.url), {
        method,
        headers,
        ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
      });
    } catch (error) {
      throw new CommandError(
        `Nothing answers at ${this.url}: start it with bin/espalier up, or name another server with --url.`,
        { cause: error },
      );
    }
  }
}

async function problemIn(response: Response): Promise<Problem> {
  try {
    return (await response.json()) as Problem;
  } catch {
    return {};
  }
}
