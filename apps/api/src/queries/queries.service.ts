import { Inject, Injectable } from "@nestjs/common";
import type { z } from "zod";
import { EspalierError, isId, LIMITS } from "#core";
import type { Memory, MemorySchema } from "#memory";
import { explain, limitWarnings, parse, plan, validate } from "#query";
import { API_DEPENDENCIES, type ApiDependencies } from "../dependencies.js";
import { reaches, type Caller } from "../http/caller.js";
import type { ExplainBody, explainShape, parseShape } from "../wire/query.js";

/** Queries as texts: nothing here reads a node. */
@Injectable()
export class QueriesService {
  constructor(@Inject(API_DEPENDENCIES) private readonly dependencies: ApiDependencies) {}

  /** @throws EspalierError the parser's located errors */
  parse(query: string): z.input<typeof parseShape> {
    const { canonical, ast, warnings } = parse(query);
    return { query: canonical, ast, warnings: limitWarnings(warnings).map((warning) => ({ ...warning })) };
  }

  /**
   * The plan as a query with these settings would have it. With a memory, names are validated against its schema.
   * @throws EspalierError the parser's located errors, `memory_not_found`, `unknown_type`, `unknown_attribute`
   */
  async explain(caller: Caller, body: ExplainBody): Promise<z.input<typeof explainShape>> {
    const memory = body.memory === undefined ? undefined : await this.#memory(caller, body.memory);
    const query = parse(body.query);
    const warnings = memory === undefined ? [] : validate(query, await this.#schema(memory));
    const scorer = body.scorer ?? memory?.scoring.scorer;
    const knowledge = {
      ...{ topK: body.topK, exact: body.exact, approximateFrom: this.#approximateFrom() },
      ...(scorer !== undefined && { scorer, pushesDown: scorer !== "entailment" }),
    };
    return {
      query: query.canonical,
      ...explain(plan(query.ast), knowledge),
      warnings: limitWarnings([...query.warnings, ...warnings]).map((warning) => ({ ...warning })),
    };
  }

  /** Files are always searched whole. */
  #approximateFrom(): number | "never" {
    const { distributed } = this.dependencies.config;
    return distributed === undefined ? "never" : (distributed.qdrant.exactBelow ?? LIMITS.exactBelow);
  }

  #schema(memory: Memory): Promise<MemorySchema> {
    return this.dependencies.tree.schema({ tenant: memory.tenant, memory: memory.id });
  }

  async #memory(caller: Caller, id: string): Promise<Memory> {
    if (!isId("mem", id) || !reaches(caller, id)) {
      throw new EspalierError("memory_not_found", "There is no such memory.");
    }
    return this.dependencies.tree.getMemory({ tenant: caller.tenant, memory: id });
  }
}
