import { EspalierError } from "#core";
import { Neo4jError } from "neo4j-driver";

/** What an operator can do, by the beginning of an error's code; the first that fits. */
const ADVICE: readonly (readonly [code: string, advice: string])[] = [
  ["ServiceUnavailable", "it cannot be reached: check NEO4J_URI and that the server runs"],
  ["SessionExpired", "the connection was lost: check that the server runs"],
  ["Neo.ClientError.Security", "it refuses user and password: check NEO4J_USERNAME and NEO4J_PASSWORD"],
  ["Neo.ClientError.Database.DatabaseNotFound", "the database is not there: check NEO4J_DATABASE"],
  [
    "Neo.ClientError.General.ForbiddenOnReadOnlyDatabase",
    "the database is read-only: check the server's configuration",
  ],
  [
    "Neo.ClientError.General.WriteOnReadOnlyAccessDatabase",
    "the database is read-only: check the server's configuration",
  ],
  ["Neo.ClientError.General.WriteOnReadOnlyAccessMode", "the database is read-only: check the user's role"],
  [
    "Neo.ClientError.Cluster.NotALeader",
    "the server takes no writes: use the neo4j:// scheme, which finds the leader of a cluster",
  ],
  ["Neo.ClientError.Transaction.TransactionTimedOut", "a transaction took too long: check the server's load"],
  [
    "Neo.ClientError.General.TransactionOutOfMemoryError",
    "a transaction took more memory than it may: raise db.memory.transaction.max",
  ],
  ["Neo.TransientError.General.MemoryPoolOutOfMemoryError", "it ran out of memory: give it more heap"],
  ["Neo.TransientError.General.DatabaseUnavailable", "its database is starting, stopping or failed: see its log"],
  ["Neo.TransientError.General.OutOfMemoryError", "it ran out of memory: give it more heap"],
  ["Neo.TransientError", "it was busy: its locks or resources were taken"],
  ["Neo.DatabaseError", "it could not read or write its files: check its disk's space and its log"],
];

/** A mistake of ours, not of the server. */
const OURS = ["Neo.ClientError.Statement", "Neo.ClientError.Schema", "Neo.ClientError.Request"];

/**
 * `store_unavailable` with what to check for whatever the server or the way to it could not do; everything else as it is.
 * The driver's error is kept as the cause, for the log.
 */
export function toStoreError(thrown: unknown): unknown {
  if (!(thrown instanceof Neo4jError)) return thrown;
  const { code } = thrown;
  if (OURS.some((prefix) => code.startsWith(prefix))) return thrown;
  const advice = ADVICE.find(([prefix]) => code.startsWith(prefix))?.[1] ?? "it did not take the call: see its log";
  return new EspalierError("store_unavailable", `Neo4j cannot be used: ${advice}.`, { cause: thrown });
}
