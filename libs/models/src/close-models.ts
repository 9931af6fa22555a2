import { EspalierError } from "#core";

/** Closes the model of a front that is open; one that is still being opened is its opener's to close. */
export async function closeOpened(opening: Promise<{ readonly model: { close?(): Promise<void> } }>): Promise<void> {
  const front = await Promise.race([opening, Promise.resolve()]).catch(() => undefined);
  await front?.model.close?.();
}

/** For who asks a process for a model after it has closed them. */
export function modelsAreClosed(): EspalierError {
  return new EspalierError("model_unavailable", "The models of this process are closed.");
}
