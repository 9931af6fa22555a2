import { EspalierError } from "#core";

/** What a call answers, or undefined if its memory is gone: who works for a memory that is being deleted has nothing to do. */
export async function unlessGone<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof EspalierError && error.code === "memory_not_found") return undefined;
    throw error;
  }
}
