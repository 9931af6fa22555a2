import { Controller, Query } from "@nestjs/common";
import { FromCaller, type Caller } from "../http/caller.js";
import { Handles } from "../http/operation.js";
import { OPERATIONS } from "../http/operations.js";
import { validate } from "../http/validate.js";
import { dayToWire, usageQuery } from "../wire/usage.js";
import { UsageService } from "./usage.service.js";

@Controller()
export class UsageController {
  constructor(private readonly usage: UsageService) {}

  @Handles(OPERATIONS.getUsage)
  async read(@FromCaller() caller: Caller, @Query() query: unknown): Promise<unknown> {
    const usage = await this.usage.read(caller, validate(usageQuery, query, "query string"));
    return { ...usage, items: usage.items.map(dayToWire) };
  }
}
