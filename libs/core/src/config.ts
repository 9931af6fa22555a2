import { z } from "zod";
import { LIMITS } from "./limits.js";
import type { TenantLimits } from "./tenant-limits.js";

const url = z.url({ error: "must be a URL" });
const text = z.string().min(1);
const oneOf = <const Names extends readonly [string, ...string[]]>(...names: Names) =>
  z.enum(names, { error: `must be one of ${names.join(", ")}` });

/** Decimal digits only: what a person would not call a whole number is none. */
const whole = (least: number, most: number, error: string) =>
  z
    .string()
    .refine((digits) => /^[0-9]+$/.test(digits) && Number(digits) >= least && Number(digits) <= most, { error })
    .transform(Number);
const port = whole(0, 65_535, "must be a port: a whole number from 0 to 65535");
/** A limit that can be left out. */
const limit = (least: number, error: string) =>
  z.union([z.literal("unlimited").transform(() => Infinity), whole(least, Number.MAX_SAFE_INTEGER, error)], { error });
const seconds = (most: number) => whole(1, most, `must be a whole number of seconds from 1 to ${most}`);

const count = limit(0, "must be a whole number, or unlimited");
const positive = limit(1, "must be a whole number, at least 1, or unlimited");

const networks = z
  .string()
  .transform((list) => list.split(",").map((network) => network.trim()))
  .pipe(z.array(z.union([z.cidrv4(), z.cidrv6()], { error: "must be networks as 10.0.0.0/8, joined by commas" })));

const modelNames = z
  .string()
  .regex(/^[^\s,]+(\s*,\s*[^\s,]+)*$/, "must be names of models, joined by commas")
  .transform((list) => list.split(",").map((name) => name.trim()));

const provider = oneOf("local", "tei", "openai");
const quantization = oneOf("none", "scalar");
const boltUrl = z
  .string()
  .regex(
    /^(neo4j|bolt)(\+s|\+ssc)?:\/\/[^/?#@\s]+\/?$/,
    "must be a Neo4j address without a password, as neo4j://host:7687",
  );
const httpUrl = z.url({ protocol: /^https?$/, error: "must be an address as http://host:6333" });

/** One model server as the environment describes it. */
export interface ModelConfig {
  readonly provider: z.infer<typeof provider>;
  /** Base URL of a server; absent for local models. */
  readonly url?: string;
  /** Model name at a server, or a folder of a local model. */
  readonly model?: string;
  readonly apiKey?: string;
}

/** Where embeddings come from, and which models memories may name besides that one. */
export interface EmbeddingConfig extends ModelConfig {
  /** Absent: any that can be reached. What a memory has already, it keeps. */
  readonly nameable?: readonly string[];
}

/** Where the distributed profile keeps trees (Neo4j) and vectors (Qdrant). */
export interface DistributedConfig {
  readonly neo4j: {
    /** `neo4j://host:7687`, `bolt://…`; `neo4j+s://…` for TLS. */
    readonly uri: string;
    readonly username: string;
    /** Absent: the server has authentication off. */
    readonly password?: string;
    /** Absent: the user's home database. */
    readonly database?: string;
  };
  readonly qdrant: {
    readonly url: string;
    readonly apiKey?: string;
    /** Of collections that are made from now on. `scalar`: a byte a dimension, rescored with the whole vector. */
    readonly quantization: z.infer<typeof quantization>;
    /** Searches over fewer candidates are exact. Absent: the store's own threshold. */
    readonly exactBelow?: number;
  };
}

const environment = z.object({
  REDIS_URL: url.optional(),
  /** Put into REDIS_URL, so that the address can be told to anyone. */
  REDIS_PASSWORD: text.optional(),
  NEO4J_URI: boltUrl.optional(),
  NEO4J_USERNAME: text.default("neo4j"),
  NEO4J_PASSWORD: text.optional(),
  NEO4J_DATABASE: text.optional(),
  QDRANT_URL: httpUrl.optional(),
  QDRANT_API_KEY: text.optional(),
  QDRANT_QUANTIZATION: quantization.default("none"),
  QDRANT_EXACT_BELOW: whole(0, Number.MAX_SAFE_INTEGER, "must be a whole number of candidates").optional(),
  EMBEDDING_PROVIDER: provider.default("local"),
  EMBEDDING_URL: url.optional(),
  EMBEDDING_MODEL: text.optional(),
  EMBEDDING_API_KEY: text.optional(),
  /** Models that memories may name besides the deployment's own, by comma. */
  EMBEDDING_MODELS: modelNames.optional(),
  ENTAILMENT_PROVIDER: provider.optional(),
  ENTAILMENT_URL: url.optional(),
  ENTAILMENT_MODEL: text.optional(),
  ENTAILMENT_API_KEY: text.optional(),
  ESPALIER_PORT: port.default(7700),
  ESPALIER_HOST: text.default("127.0.0.1"),
  ESPALIER_DATA: text.default(".espalier"),
  /** Folder with the fetched models. */
  ESPALIER_MODELS: text.default(".models"),
  ESPALIER_BODY_LIMIT: whole(1, Number.MAX_SAFE_INTEGER, "must be a whole number of bytes, as 33554432").optional(),
  /** What a process holds of the memories that it searches in SQLite; 0: nothing. */
  SQLITE_IMAGE_BYTES: whole(0, Number.MAX_SAFE_INTEGER, "must be a whole number of bytes, as 536870912").optional(),
  /** Serves `/metrics` without a key on a port of its own (0: any free one); unset: on the API's port, for operators. */
  ESPALIER_METRICS_PORT: port.optional(),
  ESPALIER_SHUTDOWN_SECONDS: seconds(600).default(10),
  /** Networks that webhooks may reach although they are not public, as `10.0.0.0/8,fd00::/8`. */
  ESPALIER_WEBHOOK_NETWORKS: networks.default([]),
  /** `allowed`: webhooks may be plain http. */
  ESPALIER_WEBHOOK_HTTP: oneOf("allowed", "refused").default("refused"),
  /** Seals what is secret and must be read again (the secrets of webhooks); the same for API and workers. */
  ESPALIER_SECRETS_KEY: z.string().min(16, "must have at least 16 characters").optional(),
  /** Limits of tenants whose record has none of its own. */
  ESPALIER_TENANT_REQUESTS_PER_SECOND: positive.optional(),
  ESPALIER_TENANT_BURST: whole(1, Number.MAX_SAFE_INTEGER, "must be a whole number, at least 1").optional(),
  ESPALIER_TENANT_QUEUED_JOBS: count.default(LIMITS.tenantQueuedJobs),
  ESPALIER_TENANT_QUEUED_BYTES: count.default(LIMITS.tenantQueuedBytes),
  ESPALIER_TENANT_IN_FLIGHT: positive.default(LIMITS.tenantInFlight),
  ESPALIER_TENANT_NODES: count.optional(),
  ESPALIER_TENANT_BYTES: count.optional(),
  ESPALIER_TENANT_MEMORIES: count.default(LIMITS.tenantMemories),
  ESPALIER_TENANT_KEYS: count.default(LIMITS.tenantKeys),
  ESPALIER_TENANT_IDEMPOTENCY_KEYS: count.default(LIMITS.tenantIdempotencyKeys),
  LOG_LEVEL: oneOf("fatal", "error", "warn", "info", "debug", "trace", "silent").default("info"),
});

/** Every variable that the configuration knows. Each can be given as a file too: `NAME_FILE`, see `fillFromFiles`. */
export const CONFIG_VARIABLES: readonly string[] = Object.keys(environment.shape);

type Variables = Readonly<Record<string, string | undefined>>;

/** What is wrong between variables that are right by themselves, a line each. */
function problemsBetween(set: Variables): readonly string[] {
  const { EMBEDDING_PROVIDER: embedding, ENTAILMENT_PROVIDER: entailment } = set;
  const missing = (name: string, because: string): readonly string[] =>
    set[name] === undefined ? [`${name} is needed because ${because}`] : [];
  return [
    ...(set["NEO4J_URI"] !== undefined
      ? missing("QDRANT_URL", "NEO4J_URI is set: trees in one, vectors in the other")
      : []),
    ...(set["QDRANT_URL"] !== undefined
      ? missing("NEO4J_URI", "QDRANT_URL is set: trees in one, vectors in the other")
      : []),
    ...(embedding === "tei" || embedding === "openai"
      ? missing("EMBEDDING_URL", `EMBEDDING_PROVIDER is ${embedding}`)
      : []),
    ...(embedding === "openai" ? missing("EMBEDDING_MODEL", "EMBEDDING_PROVIDER is openai") : []),
    ...(entailment === "tei" ? missing("ENTAILMENT_URL", "ENTAILMENT_PROVIDER is tei") : []),
    ...(entailment === "local" ? missing("ENTAILMENT_MODEL", "ENTAILMENT_PROVIDER is local") : []),
    ...(entailment === "openai"
      ? ["ENTAILMENT_PROVIDER must be local or tei: the OpenAI API has no entailment endpoint"]
      : []),
    ...(set["ESPALIER_TENANT_BURST"] !== undefined && set["ESPALIER_TENANT_REQUESTS_PER_SECOND"] === "unlimited"
      ? ["ESPALIER_TENANT_BURST does nothing while ESPALIER_TENANT_REQUESTS_PER_SECOND is unlimited: unset it"]
      : []),
    ...passwordProblems(set),
  ];
}

function passwordProblems({ REDIS_URL: address, REDIS_PASSWORD: password }: Variables): readonly string[] {
  if (password === undefined) return [];
  if (address === undefined) return ["REDIS_URL is needed because REDIS_PASSWORD is set"];
  if (!URL.canParse(address)) return [];
  const { host, password: encoded } = new URL(address);
  if (host === "") return ["REDIS_PASSWORD cannot be sent to an address without a host: unset it"];
  const own = decodeURIComponent(encoded);
  return own !== "" && own !== password ? ["REDIS_PASSWORD is not the password in REDIS_URL: give one of them"] : [];
}

/** Where webhooks may go, and how their secrets are kept. */
export interface WebhookConfig {
  /** Networks that may be reached although they are not public. */
  readonly networks: readonly string[];
  /** Whether plain http is allowed. */
  readonly http: boolean;
  /** Seals the secrets; absent: they are stored as they are. */
  readonly secretsKey?: string;
}

/** The checked configuration of a process. */
export interface Config {
  /** With its password. */
  readonly redisUrl?: string;
  /** Absent: the embedded profile. */
  readonly distributed?: DistributedConfig;
  readonly port: number;
  readonly host: string;
  readonly dataFolder: string;
  /** Bytes that a process holds of the memories that it searches there. Absent: the stores' own bound. */
  readonly imageBytes?: number;
  readonly modelsFolder: string;
  readonly bodyLimitBytes?: number;
  /** Port of `/metrics` alone; absent: the API's own port, with a key of scope `operator`. */
  readonly metricsPort?: number;
  readonly shutdownSeconds: number;
  readonly webhooks: WebhookConfig;
  /** Of tenants whose record says nothing else. */
  readonly tenantLimits: TenantLimits;
  readonly embedding: EmbeddingConfig;
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

const withPassword = (address: string, password: string | undefined): string => {
  if (password === undefined) return address;
  const whole = new URL(address);
  whole.password = encodeURIComponent(password);
  return whole.href;
};

function distributed(value: z.infer<typeof environment>): DistributedConfig | undefined {
  if (value.NEO4J_URI === undefined || value.QDRANT_URL === undefined) return undefined;
  return {
    neo4j: {
      uri: value.NEO4J_URI,
      username: value.NEO4J_USERNAME,
      ...(value.NEO4J_PASSWORD !== undefined && { password: value.NEO4J_PASSWORD }),
      ...(value.NEO4J_DATABASE !== undefined && { database: value.NEO4J_DATABASE }),
    },
    qdrant: {
      url: value.QDRANT_URL,
      quantization: value.QDRANT_QUANTIZATION,
      ...(value.QDRANT_API_KEY !== undefined && { apiKey: value.QDRANT_API_KEY }),
      ...(value.QDRANT_EXACT_BELOW !== undefined && { exactBelow: value.QDRANT_EXACT_BELOW }),
    },
  };
}

function tenantLimits(value: z.infer<typeof environment>): TenantLimits {
  const { ESPALIER_TENANT_REQUESTS_PER_SECOND: requestsPerSecond, ESPALIER_TENANT_BURST: burst } = value;
  const limits = {
    requestsPerSecond: requestsPerSecond ?? LIMITS.tenantRequestsPerSecond,
    burst: burst ?? (requestsPerSecond === undefined ? LIMITS.tenantBurst : undefined),
    queuedJobs: value.ESPALIER_TENANT_QUEUED_JOBS,
    queuedBytes: value.ESPALIER_TENANT_QUEUED_BYTES,
    inFlight: value.ESPALIER_TENANT_IN_FLIGHT,
    nodes: value.ESPALIER_TENANT_NODES,
    bytes: value.ESPALIER_TENANT_BYTES,
    memories: value.ESPALIER_TENANT_MEMORIES,
    keys: value.ESPALIER_TENANT_KEYS,
    idempotencyKeys: value.ESPALIER_TENANT_IDEMPOTENCY_KEYS,
  };
  return Object.fromEntries(Object.entries(limits).filter(([, most]) => Number.isFinite(most)));
}

/** The variables that `fillFromFiles` left as files, because they could not be taken from there. */
const filesLeft = (set: Variables): readonly string[] =>
  CONFIG_VARIABLES.filter((name) => set[`${name}_FILE`] !== undefined);

const fileProblem = (set: Variables, name: string): string =>
  set[name] === undefined
    ? `${name}_FILE names a file that is empty or cannot be read: ${set[`${name}_FILE`] ?? ""}`
    : `${name}_FILE and ${name} are both set: unset one of them`;

/**
 * Checks the environment. Empty strings count as unset.
 * @param environmentVariables as `fillFromFiles` leaves them
 * @param needs variables that this process cannot do without, each with the reason.
 * @throws ConfigError listing every problem; nothing is started then.
 */
export function parseConfig(environmentVariables: Variables, needs: Readonly<Record<string, string>> = {}): Config {
  const set = Object.fromEntries(Object.entries(environmentVariables).filter(([, value]) => value !== ""));
  const parsed = environment.safeParse(set);
  const left = filesLeft(set);
  const problems = [
    ...(parsed.error?.issues ?? []).map((issue) => `${issue.path.join(".")} ${issue.message}`),
    ...problemsBetween(set),
    ...Object.entries(needs)
      .filter(([name]) => set[name] === undefined)
      .map(([name, because]) => `${name} is needed because ${because}`),
  ].filter((line) => !left.some((name) => line.startsWith(`${name} is needed`)));
  problems.push(...left.map((name) => fileProblem(set, name)));
  if (!parsed.success || problems.length > 0) throw new ConfigError(problems);
  const value = parsed.data;
  const stores = distributed(value);
  return {
    ...(value.REDIS_URL !== undefined && { redisUrl: withPassword(value.REDIS_URL, value.REDIS_PASSWORD) }),
    ...(stores !== undefined && { distributed: stores }),
    port: value.ESPALIER_PORT,
    host: value.ESPALIER_HOST,
    dataFolder: value.ESPALIER_DATA,
    ...(value.SQLITE_IMAGE_BYTES !== undefined && { imageBytes: value.SQLITE_IMAGE_BYTES }),
    modelsFolder: value.ESPALIER_MODELS,
    ...(value.ESPALIER_BODY_LIMIT !== undefined && { bodyLimitBytes: value.ESPALIER_BODY_LIMIT }),
    ...(value.ESPALIER_METRICS_PORT !== undefined && { metricsPort: value.ESPALIER_METRICS_PORT }),
    shutdownSeconds: value.ESPALIER_SHUTDOWN_SECONDS,
    webhooks: {
      networks: value.ESPALIER_WEBHOOK_NETWORKS,
      http: value.ESPALIER_WEBHOOK_HTTP === "allowed",
      ...(value.ESPALIER_SECRETS_KEY !== undefined && { secretsKey: value.ESPALIER_SECRETS_KEY }),
    },
    tenantLimits: tenantLimits(value),
    embedding: {
      ...model(value, "EMBEDDING", value.EMBEDDING_PROVIDER),
      ...(value.EMBEDDING_MODELS !== undefined && { nameable: value.EMBEDDING_MODELS }),
    },
    ...(value.ENTAILMENT_PROVIDER !== undefined && {
      entailment: model(value, "ENTAILMENT", value.ENTAILMENT_PROVIDER),
    }),
    logLevel: value.LOG_LEVEL,
  };
}
