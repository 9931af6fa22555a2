import { EspalierError, type ModelConfig } from "#core";
import { Entailer, entailmentProcessCache, type EntailmentModel } from "#scoring";
import { basename, isAbsolute, join } from "node:path";
import { hooksOf, type ModelHooks } from "./model-hooks.js";
import { LocalEntailmentModel } from "./onnx/local-entailment-model.js";
import { PATIENCE, type Patience } from "./server/call-server.js";
import { TeiEntailmentModel } from "./tei/tei-entailment-model.js";

export interface EntailerOptions extends ModelHooks {
  /** Folder with one folder a local model. */
  readonly modelsFolder: string;
  /** Milliseconds, for reports. */
  readonly now: () => number;
  readonly patience?: Patience;
}

/**
 * The front of the configured entailment model for a process that must start without it: opened when first asked for, once;
 * after a failure (a server that is away) the next call tries again.
 */
export function entailerOnDemand(config: ModelConfig, options: EntailerOptions): () => Promise<Entailer> {
  let opening: Promise<Entailer> | undefined;
  return () => {
    opening ??= openEntailer(config, options).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
}

/**
 * The front of the configured entailment model, one per process. `local`: a folder (a path, or a name in the models
 * folder); `tei`: the server's model.
 * @throws `scorer_unavailable` if the model is no three-way classifier; else the model's errors.
 */
export async function openEntailer(config: ModelConfig, options: EntailerOptions): Promise<Entailer> {
  const model = await openModel(config, options);
  const hooks = hooksOf(options, { model: model.id, kind: "entailment" });
  return new Entailer(model, { processCache: entailmentProcessCache(), now: options.now, ...hooks });
}

async function openModel(config: ModelConfig, options: EntailerOptions): Promise<EntailmentModel> {
  const { provider, url, model, apiKey } = config;
  if (provider === "local" && model !== undefined) {
    const isPath = isAbsolute(model) || basename(model) !== model;
    return LocalEntailmentModel.open(isPath ? model : join(options.modelsFolder, model));
  }
  if (provider === "tei" && url !== undefined) {
    return TeiEntailmentModel.open({ url, model, apiKey, patience: options.patience ?? PATIENCE });
  }
  throw new EspalierError(
    "scorer_unavailable",
    "The scorer entailment has no model: set ENTAILMENT_PROVIDER to local with ENTAILMENT_MODEL (a folder with an ONNX classifier), or to tei with ENTAILMENT_URL.",
  );
}
