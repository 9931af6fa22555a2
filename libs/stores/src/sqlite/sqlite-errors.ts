import { EspalierError } from "#core";

/** Primary result codes of SQLite that say "not now" or "not here": the statement was right, the file was not available. */
const UNAVAILABLE: ReadonlyMap<number, string> = new Map([
  [5, "it is locked by another process"],
  [6, "it is locked"],
  [7, "memory ran out"],
  [8, "it is read-only"],
  [10, "reading or writing it failed"],
  [11, "it is damaged"],
  [13, "the disk is full"],
  [14, "it cannot be opened"],
  [26, "it is not a database"],
]);

const BUSY = 5;

/** The low byte of an extended result code is the primary one. Told by its members: SQLite throws errors of the main realm. */
function primaryCode(thrown: unknown): number | undefined {
  if (typeof thrown !== "object" || thrown === null || !("errcode" in thrown)) return undefined;
  return typeof thrown.errcode === "number" ? thrown.errcode & 0xff : undefined;
}

/** Whether another connection holds the lock that was needed. */
export function isBusy(thrown: unknown): boolean {
  return primaryCode(thrown) === BUSY;
}

/** `store_unavailable` with its cause for what SQLite could not do; everything else as it is. */
export function toStoreError(thrown: unknown): unknown {
  if (thrown instanceof EspalierError) return thrown;
  const reason = UNAVAILABLE.get(primaryCode(thrown) ?? -1) ?? (isClosed(thrown) ? "it is closed" : undefined);
  if (reason === undefined) return thrown;
  return new EspalierError("store_unavailable", `The database cannot be used: ${reason}.`, { cause: thrown });
}

function isClosed(thrown: unknown): boolean {
  return typeof thrown === "object" && thrown !== null && "code" in thrown && thrown.code === "ERR_INVALID_STATE";
}
