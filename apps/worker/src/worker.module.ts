import { Module, type DynamicModule } from "@nestjs/common";
import type { JobKind } from "#jobs";
import { InsertProcessor } from "./processors/insert.processor.js";
import { MaintainProcessor } from "./processors/maintain.processor.js";
import type { Processor } from "./processors/processor.js";
import { QueryProcessor } from "./processors/query.processor.js";
import { ScoreProcessor } from "./processors/score.processor.js";
import { WORKER_RUNTIME, type WorkerRuntime } from "./worker-runtime.js";

/** Injection token of the processors of the worker's roles. */
export const PROCESSORS = Symbol("Processors");

/** One processor file per queue. */
const PROCESSOR_OF = {
  query: QueryProcessor,
  insert: InsertProcessor,
  score: ScoreProcessor,
  maintain: MaintainProcessor,
} as const satisfies Record<JobKind, new (runtime: WorkerRuntime) => Processor>;

/** The processors of some roles over one runtime. */
@Module({})
export class WorkerModule {
  static register(runtime: WorkerRuntime, roles: readonly JobKind[]): DynamicModule {
    const processors = roles.map((role) => PROCESSOR_OF[role]);
    return {
      module: WorkerModule,
      providers: [
        { provide: WORKER_RUNTIME, useValue: runtime },
        ...processors,
        { provide: PROCESSORS, useFactory: (...all: Processor[]) => all, inject: processors },
      ],
    };
  }
}
