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

/** The low byte of an extended result code is the primary one. */
function primaryCode(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const code = (thrown as Error & { readonly errcode?: unknown }).errcode;
  return typeof code === "number" ? code & 0xff : undefined;
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
  return thrown instanceof Error && (thrown as Error & { readonly code?: unknown }).code === "ERR_INVALID_STATE";
}
