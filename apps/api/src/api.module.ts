import { Module, type DynamicModule } from "@nestjs/common";
import { APP_FILTER } from "@nestjs/core";
import { Authenticator } from "./auth/authenticator.js";
import { Bodies } from "./bodies/bodies.js";
import { API_DEPENDENCIES, type ApiDependencies } from "./dependencies.js";
import { DriftController } from "./drift/drift.controller.js";
import { DriftService } from "./drift/drift.service.js";
import { ProblemFilter } from "./http/problem.filter.js";
import { JobsController } from "./jobs/jobs.controller.js";
import { JobsService } from "./jobs/jobs.service.js";
import { Submitter } from "./jobs/submitter.js";
import { KeysController } from "./keys/keys.controller.js";
import { KeysService } from "./keys/keys.service.js";
import { MemoriesController } from "./memories/memories.controller.js";
import { MemoriesService } from "./memories/memories.service.js";
import { TreeService } from "./memories/tree.service.js";
import { OperationsController } from "./operations/operations.controller.js";
import { QueriesController } from "./queries/queries.controller.js";
import { QueriesService } from "./queries/queries.service.js";
import { UsageController } from "./usage/usage.controller.js";
import { UsageService } from "./usage/usage.service.js";
import { WebhooksController } from "./webhooks/webhooks.controller.js";
import { WebhooksService } from "./webhooks/webhooks.service.js";
import { TenantsController } from "./tenants/tenants.controller.js";
import { TenantsService } from "./tenants/tenants.service.js";

/** The API in one module: controllers that delegate, services that hold no state, everything else a parameter. */
@Module({})
export class ApiModule {
  static with(dependencies: ApiDependencies, authenticator: Authenticator): DynamicModule {
    return {
      module: ApiModule,
      controllers: [
        MemoriesController,
        QueriesController,
        JobsController,
        KeysController,
        TenantsController,
        WebhooksController,
        UsageController,
        DriftController,
        OperationsController,
      ],
      providers: [
        { provide: API_DEPENDENCIES, useValue: dependencies },
        { provide: Authenticator, useValue: authenticator },
        { provide: Bodies, useValue: new Bodies(dependencies.bodyThreads) },
        { provide: APP_FILTER, useClass: ProblemFilter },
        MemoriesService,
        TreeService,
        QueriesService,
        JobsService,
        KeysService,
        TenantsService,
        WebhooksService,
        UsageService,
        DriftService,
        Submitter,
      ],
    };
  }
}
