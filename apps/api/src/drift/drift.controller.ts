import { Controller, HttpCode } from "@nestjs/common";
import { Handles } from "../http/operation.js";
import { OPERATIONS } from "../http/operations.js";
import { DriftService } from "./drift.service.js";

/** Whether trees and vectors agree, for those who run the deployment. */
@Controller()
export class DriftController {
  constructor(private readonly drift: DriftService) {}

  @Handles(OPERATIONS.getDrift)
  read(): Promise<unknown> {
    return this.drift.read();
  }

  @Handles(OPERATIONS.repairDrift)
  @HttpCode(202)
  repair(): Promise<unknown> {
    return this.drift.repair();
  }
}
