import type { ConnectionOptions } from "../client/connection.js";
import { openClient } from "../client/connection.js";
import { requireMemory } from "../client/find-memory.js";
import { CommandError } from "../command-error.js";
import { print, printJson, say } from "../output.js";
import { queryFooter, queryTable, type QueryAnswer } from "../query-table.js";

export interface QueryOptions extends ConnectionOptions {
  readonly scorer?: string;
  readonly topK?: number;
  readonly minScore?: number;
  readonly minRatio?: number;
  readonly maxTokens?: number;
  readonly evidence: boolean;
  readonly subtree?: true;
  readonly trace?: true;
  /** `--no-validate`: unknown types and attributes answer no rows instead of an error. */
  readonly validate: boolean;
  readonly json?: true;
}

/** `espalier query MEMORY QUERY` */
export async function query(memoryName: string, text: string, options: QueryOptions): Promise<void> {
  const client = openClient(options, process.env);
  const memory = await requireMemory(client, memoryName);
  const answer = await client.call<QueryAnswer>(`/v1/memories/${memory.id}/query`, {
    method: "POST",
    headers: { prefer: "wait=120" },
    body: bodyOf(text, options),
  });
  if (!Array.isArray(answer.rows))
    throw new CommandError("The query did not end within two minutes: is a worker running?");
  if (options.json === true) {
    printJson(answer);
    return;
  }
  print(queryTable(answer));
  if (answer.rows.length === 0 && answer.truncated && options.maxTokens !== undefined) {
    say(`warning: the first row alone has more than ${options.maxTokens} tokens: raise --max-tokens.`);
  }
  for (const { message } of answer.warnings) say(`warning: ${message}`);
  print(queryFooter(answer));
  if (options.trace === true) printJson(answer.trace);
}

function bodyOf(text: string, options: QueryOptions): object {
  const { scorer, topK, minScore, minRatio, maxTokens } = options;
  return {
    query: text,
    ...(scorer !== undefined && { scorer }),
    ...(topK !== undefined && { topK }),
    ...(minScore !== undefined && { minScore }),
    ...(minRatio !== undefined && { minRatio }),
    ...(maxTokens !== undefined && { maxTokens }),
    include: [...(options.evidence ? ["evidence"] : []), ...(options.subtree === true ? ["subtree"] : [])],
    validate: options.validate,
    trace: options.trace === true,
  };
}
