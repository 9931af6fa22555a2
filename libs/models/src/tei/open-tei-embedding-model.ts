import { EspalierError } from "#core";
import { ServerEmbeddingModel } from "../server/server-embedding-model.js";
import { TeiClient, type TeiOptions } from "./tei-client.js";

/** The embedding model that a TEI server serves (`POST /embed`). */
export async function openTeiEmbeddingModel(options: TeiOptions): Promise<ServerEmbeddingModel> {
  const client = new TeiClient(options);
  const { id, maxTokens, batching } = await client.info();
  return ServerEmbeddingModel.open({
    id,
    maxTokens,
    batching,
    // Not truncated: a text that is too long comes back as 413 and is embedded in windows.
    request: async (texts, signal) => {
      const answer = await client.post("/embed", { inputs: texts, normalize: true, truncate: false }, signal);
      if (Array.isArray(answer)) return answer as readonly unknown[];
      throw new EspalierError("model_bad_output", `The model ${id} answered /embed with something else than a list.`, {
        details: { model: id },
      });
    },
  });
}
