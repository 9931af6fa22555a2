/**
 * The embedding models that a deployment can use: the configured one, any local model in the models folder, and any model
 * name at the configured OpenAI-compatible URL. A memory keeps the id of the model whose vectors it holds, so it stays
 * readable after the configuration moved on, for as long as that model can still be reached from it. Which of them a memory
 * may be given from now on can be a shorter list: models at a server cost money.
 */
import { EspalierError, LIMITS, type EmbeddingConfig } from "#core";
import { Embedder, embeddingProcessCache, type EmbeddingModel } from "#scoring";
import { LRUCache } from "lru-cache";
import { readdir } from "node:fs/promises";
import { basename, isAbsolute, join } from "node:path";
import { hooksOf, type ModelHooks } from "./model-hooks.js";
import { closeOpened, modelsAreClosed } from "./close-models.js";
import { LocalEmbeddingModel } from "./onnx/local-embedding-model.js";
import { isModelFolder, readModelFolder } from "./onnx/model-folder.js";
import { openAiModelId, openOpenAiEmbeddingModel } from "./openai/open-openai-embedding-model.js";
import { PATIENCE, type Patience } from "./server/call-server.js";
import { openTeiEmbeddingModel } from "./tei/open-tei-embedding-model.js";
import { TeiClient, teiModelId } from "./tei/tei-client.js";

/** The local model when nothing else is said: the one that the set-up fetches. */
const DEFAULT_LOCAL_MODEL = "all-MiniLM-L6-v2";
/** A model's folder among the models: one plain name. */
const FOLDER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

export interface EmbeddingModelsOptions extends ModelHooks {
  /** Folder with one folder a local model. */
  readonly modelsFolder: string;
  /** Milliseconds, for reports. */
  readonly now: () => number;
  readonly patience?: Patience;
}

/** A model that is known by its id and not necessarily loaded. */
interface Reference {
  readonly id: string;
  readonly open: () => Promise<EmbeddingModel>;
}

/** Opened by `openEmbeddingModels`; fills the port of libs/memory. */
export class EmbeddingModels {
  readonly #config: EmbeddingConfig;
  readonly #options: EmbeddingModelsOptions;
  readonly #default: Reference;
  readonly #processCache = embeddingProcessCache();
  #closed = false;
  /** Fronts by id; a local model that falls out is freed as garbage, when no job uses it any more. */
  readonly #open = new LRUCache<string, Promise<Embedder>>({ max: LIMITS.openModels });

  constructor(config: EmbeddingConfig, options: EmbeddingModelsOptions, reference: Reference) {
    this.#config = config;
    this.#options = options;
    this.#default = reference;
  }

  /** Id of the model of new memories. */
  get default(): string {
    return this.#default.id;
  }

  /**
   * The id of a model that a person names by its id, its folder or its name at the server, without loading it.
   * @throws `model_unknown` with `models` (some that can be named) if this deployment has none of that name for new memories.
   */
  async identify(name: string): Promise<string> {
    const found = await this.#find(name);
    if (found !== undefined && (await this.#isNameable(found.id))) return found.id;
    const models = [...new Set([this.default, ...(this.#config.nameable ?? (await this.#folders()))])];
    throw unknownModel(name, `: memories can have ${models.join(", ")}`, { models });
  }

  /** @throws `model_unknown` for the first name that memories may give and no model has. */
  async checkNameable(): Promise<void> {
    for (const name of this.#config.nameable ?? []) {
      if ((await this.#find(name)) === undefined) throw unknownModel(name, " that EMBEDDING_MODELS could mean");
    }
  }

  async #isNameable(id: string): Promise<boolean> {
    const { nameable } = this.#config;
    if (id === this.default || nameable === undefined) return true;
    const references = await Promise.all(nameable.map((name) => this.#find(name)));
    return references.some((reference) => reference?.id === id);
  }

  /** Names of the local models that the set-up, or whoever runs the deployment, has put there. */
  async #folders(): Promise<readonly string[]> {
    const { modelsFolder } = this.#options;
    const names = (await readdir(modelsFolder).catch(() => [])).filter((name) => FOLDER_NAME.test(name));
    const isModel = await Promise.all(names.map((name) => isModelFolder(join(modelsFolder, name))));
    const own = this.default.split("@")[0];
    return names.filter((name, index) => isModel[index] === true && name !== own);
  }

  /**
   * The front of a model, one per process; it is loaded when first asked for, and asked again after a failure.
   * @throws `model_unknown`, `model_unavailable`, or what the server answers to a first text.
   */
  async get(id: string): Promise<Embedder> {
    if (this.#closed) throw modelsAreClosed();
    const open = this.#open.get(id);
    if (open !== undefined) return open;
    const reference = await this.#refer(id);
    const known = this.#open.get(reference.id);
    if (known !== undefined) return known;
    const opening = this.#front(reference);
    this.#open.set(reference.id, opening);
    try {
      return await opening;
    } catch (error) {
      if (this.#open.peek(reference.id) === opening) this.#open.delete(reference.id);
      throw error;
    }
  }

  /** Frees what the open models hold, and opens no more; does not wait for one that is just being opened. */
  async close(): Promise<void> {
    this.#closed = true;
    const openings = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(openings.map(closeOpened));
  }

  async #front({ open }: Reference): Promise<Embedder> {
    const model = await open();
    if (this.#closed) {
      await model.close?.();
      throw modelsAreClosed();
    }
    const { now } = this.#options;
    const hooks = hooksOf(this.#options, { model: model.id, kind: "embedding" });
    return new Embedder(model, { processCache: this.#processCache, now, ...hooks });
  }

  async #refer(name: string): Promise<Reference> {
    const found = await this.#find(name);
    if (found === undefined) throw unknownModel(name);
    return found;
  }

  async #find(name: string): Promise<Reference | undefined> {
    if (name === this.#default.id) return this.#default;
    const local = await this.#referLocal(name);
    if (local !== undefined) return local;
    const { provider, url } = this.#config;
    if (provider === "openai" && url !== undefined) {
      const prefix = openAiModelId(url, "");
      const model = name.startsWith(prefix) ? name.slice(prefix.length) : name;
      if (model !== "" && !/^(openai|tei):|@/.test(model))
        return openAiReference(this.#config, url, model, this.#options);
    }
    return provider === "tei" && this.#default.id.endsWith(`/${name}`) ? this.#default : undefined;
  }

  async #referLocal(name: string): Promise<Reference | undefined> {
    const { provider } = this.#config;
    const folder = name.split("@")[0] ?? "";
    if (provider === "local" && folder === this.#default.id.split("@")[0] && folder === name) return this.#default;
    const path = join(this.#options.modelsFolder, folder);
    if (!FOLDER_NAME.test(folder) || !(await isModelFolder(path))) return undefined;
    const { id } = await readModelFolder(path);
    if (name !== folder && name !== id) return undefined;
    return { id, open: () => LocalEmbeddingModel.open(path) };
  }
}

/**
 * Looks at the configured model, without loading it, and answers the registry.
 * @throws `model_unusable` if a local model's folder is not there, `model_unavailable` if a TEI server without a stated model
 * is away, `model_unknown` if no model has a name that memories may give
 */
export async function openEmbeddingModels(
  config: EmbeddingConfig,
  options: EmbeddingModelsOptions,
): Promise<EmbeddingModels> {
  const models = new EmbeddingModels(config, options, await configured(config, options));
  await models.checkNameable();
  return models;
}

async function configured(config: EmbeddingConfig, options: EmbeddingModelsOptions): Promise<Reference> {
  const { provider, url, model, apiKey } = config;
  if (provider === "openai" && url !== undefined && model !== undefined) {
    return openAiReference(config, url, model, options);
  }
  if (provider === "tei" && url !== undefined) {
    const tei = { url, model, apiKey, patience: options.patience ?? PATIENCE };
    const id = model === undefined ? (await new TeiClient(tei).info()).id : teiModelId(url, model);
    return { id, open: () => openTeiEmbeddingModel(tei) };
  }
  const name = model ?? DEFAULT_LOCAL_MODEL;
  const isPath = isAbsolute(name) || basename(name) !== name;
  const path = isPath ? name : join(options.modelsFolder, name);
  const { id } = await readModelFolder(path);
  return { id, open: () => LocalEmbeddingModel.open(path) };
}

function openAiReference(
  config: EmbeddingConfig,
  url: string,
  model: string,
  options: EmbeddingModelsOptions,
): Reference {
  const { apiKey } = config;
  const patience = options.patience ?? PATIENCE;
  const open = () => openOpenAiEmbeddingModel({ url, model, apiKey, patience });
  return { id: openAiModelId(url, model), open };
}

const unknownModel = (name: string, more = "", details: { readonly models?: readonly string[] } = {}): EspalierError =>
  new EspalierError("model_unknown", `This deployment has no embedding model ${name}${more}.`, {
    details: { model: name, ...details },
  });
