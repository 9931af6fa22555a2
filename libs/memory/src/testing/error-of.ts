import { EspalierError } from "#core";

/** The registry error that a call throws, as a test compares it. */
export function errorOf(call: () => unknown): { code: string; message: string; details: Record<string, unknown> } {
  try {
    call();
  } catch (error) {
    if (error instanceof EspalierError) {
      return { code: error.code, message: error.message, details: { ...error.details } };
    }
    throw error;
  }
  throw new Error("Expected an error, but the call returned.");
}
