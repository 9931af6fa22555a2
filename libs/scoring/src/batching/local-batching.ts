import { LIMITS } from "#core";
import type { Batching } from "./micro-batcher.js";

/** Calls for a model in this process: one at a time, small enough that a query soon has its turn. */
export const LOCAL_BATCHING: Batching = {
  inFlight: 1,
  batchItems: LIMITS.modelBatchItems,
  batchTokens: LIMITS.modelBatchTokens,
};
