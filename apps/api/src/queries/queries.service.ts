import { Inject, Injectable } from "@nestjs/common";
import type { z } from "zod";
import { EspalierError, isId } from "#core";
import type { Memory } from "#memory";
import { parse } from "#query";
import { API_DEPENDENCIES, type ApiDependencies } from "../dependencies.js";
import { reaches, type Caller } from "../http/caller.js";
import type { ExplainBody, parseShape } from "../wire/query.js";
import { checkScorer } from "./check-query.js";

/** Queries as texts: nothing here reads a node. */
@Injectable()
export class QueriesService {
  constructor(@Inject(API_DEPENDENCIES) private readonly dependencies: ApiDependencies) {}

  /** @throws EspalierError the parser's located errors */
  parse(query: string): z.input<typeof parseShape> {
    const { canonical, ast, warnings } = parse(query);
    return { query: canonical, ast, warnings: warnings.map((warning) => ({ ...warning })) };
  }

  async explain(caller: Caller, body: ExplainBody): Promise<unknown> {
    checkScorer(body.scorer);
    const memory = body.memory === undefined ? undefined : await this.#memory(caller, body.memory);
    return memory;
  }

  async #memory(caller: Caller, id: string): Promise<Memory> {
    if (!isId("mem", id) || !reaches(caller, id)) {
      throw new EspalierError("memory_not_found", "There is no such memory.");
    }
    return this.dependencies.tree.getMemory({ tenant: caller.tenant, memory: id });
  }
}
