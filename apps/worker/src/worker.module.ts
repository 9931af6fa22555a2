import "reflect-metadata";
import { Module, type DynamicModule, type INestApplicationContext, type NestApplicationOptions } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { queuesOf, type JobKind, type QueueName } from "#jobs";
import { DeliverProcessor } from "./processors/deliver.processor.js";
import { InsertProcessor } from "./processors/insert.processor.js";
import { MaintainProcessor } from "./processors/maintain.processor.js";
import type { Processor } from "./processors/processor.js";
import { QueryProcessor } from "./processors/query.processor.js";
import { RowsProcessor } from "./processors/rows.processor.js";
import { ScoreProcessor } from "./processors/score.processor.js";
import { WORKER_RUNTIME, type WorkerRuntime } from "./worker-runtime.js";

/** Injection token of the processors of the worker's roles. */
const PROCESSORS = Symbol("Processors");

/** One processor file per queue. */
const PROCESSOR_OF = {
  query: QueryProcessor,
  insert: InsertProcessor,
  score: ScoreProcessor,
  rows: RowsProcessor,
  maintain: MaintainProcessor,
  deliver: DeliverProcessor,
} as const satisfies Record<QueueName, new (runtime: WorkerRuntime) => Processor>;

/** The processors of some roles over one runtime. */
@Module({})
class WorkerModule {
  static register(runtime: WorkerRuntime, roles: readonly JobKind[]): DynamicModule {
    const processors = queuesOf(roles).map((queue) => PROCESSOR_OF[queue]);
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

/** Logs are ours; a start that fails throws instead of ending the process. */
const NEST_OPTIONS: Pick<NestApplicationOptions, "logger" | "abortOnError"> = { logger: false, abortOnError: false };

/** The application of a worker, and the processors in it. */
export interface WorkerApplication {
  readonly application: INestApplicationContext;
  readonly processors: readonly Processor[];
}

/** The processors of some roles over a runtime, as a Nest application without a server. */
export async function createWorkerApplication(
  runtime: WorkerRuntime,
  roles: readonly JobKind[],
): Promise<WorkerApplication> {
  const application = await NestFactory.createApplicationContext(WorkerModule.register(runtime, roles), NEST_OPTIONS);
  return { application, processors: application.get<readonly Processor[]>(PROCESSORS) };
}
