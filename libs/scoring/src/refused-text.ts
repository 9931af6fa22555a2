import type { ErrorCode, EspalierError } from "#core";

const REFUSALS: ReadonlySet<ErrorCode> = new Set(["model_bad_output", "model_refused"]);

/** Answers of a model server that are about its key, its address or its quota, whatever the text. */
const OF_ANY_TEXT: ReadonlySet<unknown> = new Set([401, 402, 403, 404, 405, 407, 429]);

/** Whether a model that was asked about one text alone said with this error that it cannot have a value: it would again. */
export function isRefusedText({ code, details }: EspalierError): boolean {
  return REFUSALS.has(code) && !OF_ANY_TEXT.has(details["status"]);
}

/** Whether one text among others can be to blame for an error. */
export function isOfOneText(error: EspalierError): boolean {
  return error.code === "model_out_of_memory" || isRefusedText(error);
}
