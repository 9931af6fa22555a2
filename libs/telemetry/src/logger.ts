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

/** An error with its code and the chain of causes, which only the log sees. */
function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  return {
    ...pino.stdSerializers.err(error),
    ...(error instanceof EspalierError && { code: error.code, details: error.details }),
  };
}
