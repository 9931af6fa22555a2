import { ConfigError, ERRORS, EspalierError, parseConfig, type Config, type ModelConfig } from "#core";
import { openEmbeddingModels, openEntailer, type Patience } from "#models";
import { storedDimension } from "#stores";
import { failed, find, ok, type Finding } from "./finding.js";

/** A server that is there answers one short text at once. */
const PATIENCE: Patience = { timeoutMs: 10_000, retries: 0, pauseMs: 1 };

type Check = Omit<Finding, "check">;

/**
 * The model servers that the configuration names, each asked about one short text: whether it answers, takes the key, has the
 * model, and whether its vectors are as long as those that are stored. Nothing where all models are local.
 */
export async function checkModelServers(environment: NodeJS.ProcessEnv): Promise<readonly Finding[]> {
  const config = configOf(environment);
  if (config === undefined) return [];
  const { embedding, entailment } = config;
  return [
    ...(embedding.provider === "local" ? [] : await checkEmbeddings(config)),
    ...(entailment?.provider === "tei"
      ? [await find("entailment server", () => checkEntailment(config, entailment))]
      : []),
  ];
}

/** Undefined if it is wrong, which is the finding of another check. */
function configOf(environment: NodeJS.ProcessEnv): Config | undefined {
  try {
    return parseConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

/** The deployment's own model, then each other one that memories may name at the server. */
async function checkEmbeddings(config: Config): Promise<readonly Finding[]> {
  const { nameable: others = [] } = config.embedding;
  return [
    await find("embedding server", () => checkEmbedding(config)),
    ...(await Promise.all(others.map((name) => find(`embedding ${name}`, () => checkEmbedding(config, name))))),
  ];
}

async function checkEmbedding(config: Config, name?: string): Promise<Check> {
  return answering(config.embedding, "EMBEDDING", async () => {
    const models = await openEmbeddingModels(config.embedding, optionsOf(config));
    const { model } = await models.get(name === undefined ? models.default : await models.identify(name));
    const stored = await storedDimension(config, model.id);
    const { id, dimension } = model;
    return stored === undefined || stored === dimension
      ? ok(`${id} answers vectors of ${dimension} numbers`)
      : failed(
          `${id} answers vectors of ${dimension} numbers, those stored under this name have ${stored}: have the server serve the model of before, or this one under another name`,
        );
  });
}

function checkEntailment(config: Config, entailment: ModelConfig): Promise<Check> {
  return answering(entailment, "ENTAILMENT", async () => {
    const { model } = await openEntailer(entailment, optionsOf(config));
    await model.entail([{ premise: "a", hypothesis: "a" }]);
    return ok(`${model.id} judges`);
  });
}

const optionsOf = ({ modelsFolder }: Config) => ({ modelsFolder, now: () => performance.now(), patience: PATIENCE });

/** What a look at a server found, or its failure with what to do about it. */
async function answering(
  server: ModelConfig,
  prefix: "EMBEDDING" | "ENTAILMENT",
  look: () => Promise<Check>,
): Promise<Check> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof EspalierError)) throw error;
    // Without what somebody may have put before the host.
    const { origin, pathname } = new URL(server.url ?? "");
    return failed(`${error.message} ${adviceFor(error, prefix)} (${prefix}_URL is ${origin}${pathname})`);
  }
}

/** What to do where the registry, which speaks to clients, says too little. */
function adviceFor({ code, details }: EspalierError, prefix: "EMBEDDING" | "ENTAILMENT"): string {
  const { status } = details;
  if (code === "model_unavailable" || code === "model_timeout") return `Start it, or mend ${prefix}_URL.`;
  if (code === "model_overloaded") return "It is there and takes no more at present: wait, or give it more.";
  if (code !== "model_refused") return ERRORS[code].advice;
  if (status === 401 || status === 403) return `It does not take the key: mend ${prefix}_API_KEY.`;
  if (status === 402 || status === 429) return "Its account has nothing left to spend.";
  return `Mend ${prefix}_MODEL, and the path of ${prefix}_URL (an OpenAI-compatible one mostly ends in /v1).`;
}
