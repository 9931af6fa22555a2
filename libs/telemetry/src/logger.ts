import { destination, pino, type DestinationStream, type Logger } from "pino";
import { EspalierError } from "#core";

/** Wherever one of these stands, its value is not logged. */
const SECRET_NAMES = ["authorization", "cookie", "apiKey", "secret", "password", "token", "redisUrl"];

/** A busy process writes its lines in pieces of this size, a quiet one after this time: a write costs more than a line. */
const GATHERED_BYTES = 4_096;
const FLUSH_MS = 100;

/**
 * The logger of a process: JSON lines on stderr (stdout is for results). Ids of requests and jobs are added with
 * `logger.child({ requestId })`, `logger.child({ job })`. Secrets are replaced by `[secret]`; texts of memories and queries
 * are never logged. Writes do not block the event loop and gather for up to FLUSH_MS; what is buffered is written when the
 * process exits.
 * @param options.process what runs here: `api`, `worker`, …
 */
export function createLogger(
  options: { readonly level: string; readonly process: string },
  stream: DestinationStream = destination({ fd: 2, sync: false, minLength: GATHERED_BYTES, periodicFlush: FLUSH_MS }),
): Logger {
  return pino(
    {
      level: options.level,
      base: { process: options.process, pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: serializeError },
      redact: {
        paths: SECRET_NAMES.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
        censor: "[secret]",
      },
    },
    stream,
  );
}

/** What drivers add to their errors that says where the trouble is, and nothing of what they were asked to do. */
const TOLD_OF_ERRORS = ["code", "errno", "syscall", "address", "port", "status", "statusCode"];

/**
 * An error with its code and the chain of causes, which only the log sees. Other members are left out: the Redis client
 * keeps the whole command in its errors, with what a tenant stored or the password.
 */
function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { type, message, stack } = pino.stdSerializers.err(error);
  const members = Object.entries(error).filter(([name]) => TOLD_OF_ERRORS.includes(name));
  return {
    ...{ type, message, stack, ...Object.fromEntries(members) },
    ...(error instanceof AggregateError && { aggregateErrors: error.errors.map(serializeError) }),
    ...(error instanceof EspalierError && { code: error.code, details: error.details }),
  };
}
