import { Inject, Injectable } from "@nestjs/common";
import { LRUCache } from "lru-cache";
import { scorePayload, type JobContext, type NamedHandler } from "#jobs";
import { embedFields, type EmbedFieldsResult } from "#memory";
import { WORKER_RUNTIME, type WorkerRuntime } from "../worker-runtime.js";
import { readPayload, scopeOf, type Processor } from "./processor.js";

/** Memories whose last run is remembered; a forgotten one costs a run that finds everything done. */
const REMEMBERED = 10_000;

/** Model work away from the queries: the batch lane. */
@Injectable()
export class ScoreProcessor implements Processor {
  readonly handlers: readonly NamedHandler[] = [
    { name: "embed-fields", handle: (payload, context) => this.#embedFields(payload, context) },
  ];

  /** The revision that the last run of a memory began with, by tenant and memory. */
  readonly #covered = new LRUCache<string, number>({ max: REMEMBERED });

  constructor(@Inject(WORKER_RUNTIME) private readonly runtime: WorkerRuntime) {}

  #embedFields(payload: unknown, context: JobContext): Promise<EmbedFieldsResult> {
    const { revision } = readPayload(scorePayload, payload);
    const { services, batches } = this.runtime;
    const { signal, progress } = context;
    const scope = scopeOf(context);
    const key = `${scope.tenant}/${scope.memory}`;
    return batches.run(scope, signal, async () => {
      // A run takes the head as it is: of the jobs of many inserts the first that runs does the work of all before it.
      if ((this.#covered.get(key) ?? -1) >= revision) return { fields: [], embedded: 0 };
      const head = await services.tree.getMemory(scope);
      const result = await embedFields(services, scope, { signal, progress });
      this.#covered.set(key, head.revision);
      this.runtime.apart?.rowsChanged();
      return result;
    });
  }
}
