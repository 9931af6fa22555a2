import { EspalierError, type ModelConfig } from "#core";
import { Entailer, entailmentProcessCache, type EntailmentModel } from "#scoring";
import { basename, isAbsolute, join } from "node:path";
import { hooksOf, type ModelHooks } from "./model-hooks.js";
import { LocalEntailmentModel } from "./onnx/local-entailment-model.js";
import { closeOpened, modelsAreClosed } from "./close-models.js";
import { PATIENCE, type Patience } from "./server/call-server.js";
import { TeiEntailmentModel } from "./tei/tei-entailment-model.js";

export interface EntailerOptions extends ModelHooks {
  /** Folder with one folder a local model. */
  readonly modelsFolder: string;
  /** Milliseconds, for reports. */
  readonly now: () => number;
  readonly patience?: Patience;
}

/** An entailment model that may not have been opened yet. */
export interface EntailerOnDemand {
  get(): Promise<Entailer>;
  /** Frees what it holds, and opens it no more. */
  close(): Promise<void>;
}

/**
 * The front of the configured entailment model for a process that must start without it: opened when first asked for, once;
 * after a failure (a server that is away) the next call tries again.
 */
export function entailerOnDemand(config: ModelConfig, options: EntailerOptions): EntailerOnDemand {
  let opening: Promise<Entailer> | undefined;
  let closed = false;
  const open = async (): Promise<Entailer> => {
    const entailer = await openEntailer(config, options);
    if (!closed) return entailer;
    await entailer.model.close?.();
    throw modelsAreClosed();
  };
  return {
    get: async () => {
      if (closed) throw modelsAreClosed();
      opening ??= open().catch((error: unknown) => {
        opening = undefined;
        throw error;
      });
      return opening;
    },
    close: async () => {
      closed = true;
      if (opening !== undefined) await closeOpened(opening);
    },
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

/**
 * Looks at the folder of a configured local model, so that a process does not start with one that no call can use. A
 * server may still be on its way, so nothing is asked of one.
 * @throws `model_unusable` or `scorer_unavailable`, saying what the folder lacks
 */
export async function checkEntailer(
  config: ModelConfig,
  options: Pick<EntailerOptions, "modelsFolder">,
): Promise<void> {
  if (config.provider === "local" && config.model !== undefined) {
    await LocalEntailmentModel.check(folderOf(config.model, options));
  }
}

/** A path, or the name of a folder among the models. */
function folderOf(model: string, { modelsFolder }: Pick<EntailerOptions, "modelsFolder">): string {
  return isAbsolute(model) || basename(model) !== model ? model : join(modelsFolder, model);
}

async function openModel(config: ModelConfig, options: EntailerOptions): Promise<EntailmentModel> {
  const { provider, url, model, apiKey } = config;
  if (provider === "local" && model !== undefined) {
    return LocalEntailmentModel.open(folderOf(model, options));
  }
  if (provider === "tei" && url !== undefined) {
    return TeiEntailmentModel.open({ url, model, apiKey, patience: options.patience ?? PATIENCE });
  }
  throw new EspalierError(
    "scorer_unavailable",
    "The scorer entailment has no model: set ENTAILMENT_PROVIDER to local with ENTAILMENT_MODEL (a folder with an ONNX classifier), or to tei with ENTAILMENT_URL.",
  );
}
