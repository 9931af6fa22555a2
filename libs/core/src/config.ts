import { z } from "zod";

const url = z.url();
const text = z.string().min(1);
const port = z.coerce.number().int().min(0).max(65_535);
const positive = z.coerce.number().int().positive();

const provider = z.enum(["local", "tei", "openai"]);

/** One model server as the environment describes it. */
export interface ModelConfig {
  readonly provider: z.infer<typeof provider>;
  /** Base URL of a server; absent for local models. */
  readonly url?: string;
  /** Model name at a server, or a folder of a local model. */
  readonly model?: string;
  readonly apiKey?: string;
}

const environment = z
  .object({
    REDIS_URL: url.optional(),
    NEO4J_URI: text.optional(),
    QDRANT_URL: text.optional(),
    EMBEDDING_PROVIDER: provider.default("local"),
    EMBEDDING_URL: url.optional(),
    EMBEDDING_MODEL: text.optional(),
    EMBEDDING_API_KEY: text.optional(),
    ENTAILMENT_PROVIDER: provider.optional(),
    ENTAILMENT_URL: url.optional(),
    ENTAILMENT_MODEL: text.optional(),
    ENTAILMENT_API_KEY: text.optional(),
    ESPALIER_PORT: port.default(7700),
    ESPALIER_HOST: text.default("127.0.0.1"),
    ESPALIER_DATA: text.default(".espalier"),
    /** Folder with the fetched models. */
    ESPALIER_MODELS: text.default(".models"),
    ESPALIER_BODY_LIMIT: positive.optional(),
    /** Serves `/metrics` without a key on a port of its own (0: any free one); unset: on the API's port, for operators. */
    ESPALIER_METRICS_PORT: port.optional(),
    ESPALIER_SHUTDOWN_SECONDS: positive.max(600).default(10),
    LOG_LEVEL: z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"]).default("info"),
  })
  .superRefine((value, context) => {
    const need = (name: keyof typeof value, because: string): void => {
      if (value[name] === undefined) {
        context.addIssue({ code: "custom", path: [name], message: `is needed because ${because}` });
      }
    };
    for (const name of ["NEO4J_URI", "QDRANT_URL"] as const) {
      if (value[name] !== undefined) {
        context.addIssue({
          code: "custom",
          path: [name],
          message: "asks for the distributed profile, which this version does not have: unset it",
        });
      }
    }
    if (value.EMBEDDING_PROVIDER !== "local")
      need("EMBEDDING_URL", `EMBEDDING_PROVIDER is ${value.EMBEDDING_PROVIDER}`);
    if (value.EMBEDDING_PROVIDER === "openai") need("EMBEDDING_MODEL", "EMBEDDING_PROVIDER is openai");
    if (value.ENTAILMENT_PROVIDER === "tei") need("ENTAILMENT_URL", "ENTAILMENT_PROVIDER is tei");
    if (value.ENTAILMENT_PROVIDER === "local") need("ENTAILMENT_MODEL", "ENTAILMENT_PROVIDER is local");
    if (value.ENTAILMENT_PROVIDER === "openai") {
      context.addIssue({
        code: "custom",
        path: ["ENTAILMENT_PROVIDER"],
        message: "must be local or tei: the OpenAI API has no entailment endpoint",
      });
    }
  });

/** The checked configuration of a process. */
export interface Config {
  readonly redisUrl?: string;
  readonly port: number;
  readonly host: string;
  readonly dataFolder: string;
  readonly modelsFolder: string;
  readonly bodyLimitBytes?: number;
  /** Port of `/metrics` alone; absent: the API's own port, with a key of scope `operator`. */
  readonly metricsPort?: number;
  readonly shutdownSeconds: number;
  readonly embedding: ModelConfig;
  /** Absent: the scorer `entailment` answers `scorer_unavailable`. */
  readonly entailment?: ModelConfig;
  readonly logLevel: "fatal" | "error" | "warn" | "info" | "debug" | "trace" | "silent";
}

/** Every problem of the environment at once, a line each. */
export class ConfigError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(`The configuration has ${problems.length} problem(s):\n${problems.map((line) => `  ${line}`).join("\n")}`);
    this.name = "ConfigError";
  }
}

const model = (value: Record<string, unknown>, prefix: string, kind: ModelConfig["provider"]): ModelConfig => {
  const part = (name: string): string | undefined => value[`${prefix}_${name}`] as string | undefined;
  const [serverUrl, name, apiKey] = [part("URL"), part("MODEL"), part("API_KEY")];
  return {
    provider: kind,
    ...(serverUrl !== undefined && { url: serverUrl }),
    ...(name !== undefined && { model: name }),
    ...(apiKey !== undefined && { apiKey }),
  };
};

/**
 * Checks the environment. Empty strings count as unset.
 * @param needs variables that this process cannot do without, each with the reason.
 * @throws ConfigError listing every problem; nothing is started then.
 */
export function parseConfig(
  environmentVariables: Readonly<Record<string, string | undefined>>,
  needs: Readonly<Record<string, string>> = {},
): Config {
  const set = Object.fromEntries(Object.entries(environmentVariables).filter(([, value]) => value !== ""));
  const parsed = environment.safeParse(set);
  const problems = [
    ...(parsed.error?.issues ?? []).map((issue) => `${issue.path.join(".")} ${issue.message}`),
    ...Object.entries(needs)
      .filter(([name]) => set[name] === undefined)
      .map(([name, because]) => `${name} is needed because ${because}`),
  ];
  if (!parsed.success || problems.length > 0) throw new ConfigError(problems);
  const value = parsed.data;
  return {
    ...(value.REDIS_URL !== undefined && { redisUrl: value.REDIS_URL }),
    port: value.ESPALIER_PORT,
    host: value.ESPALIER_HOST,
    dataFolder: value.ESPALIER_DATA,
    modelsFolder: value.ESPALIER_MODELS,
    ...(value.ESPALIER_BODY_LIMIT !== undefined && { bodyLimitBytes: value.ESPALIER_BODY_LIMIT }),
    ...(value.ESPALIER_METRICS_PORT !== undefined && { metricsPort: value.ESPALIER_METRICS_PORT }),
    shutdownSeconds: value.ESPALIER_SHUTDOWN_SECONDS,
    embedding: model(value, "EMBEDDING", value.EMBEDDING_PROVIDER),
    ...(value.ENTAILMENT_PROVIDER !== undefined && {
      entailment: model(value, "ENTAILMENT", value.ENTAILMENT_PROVIDER),
    }),
    logLevel: value.LOG_LEVEL,
  };
}
