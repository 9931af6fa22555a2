import { expect, test } from "@jest/globals";
import { EspalierError } from "#core";
import { isConflict, isNotFound, isPassing, storeError } from "./errors.js";

const failure = { doing: "searching", server: "http://qdrant:6333", timeoutMs: 500 };
const answer = (status: number, error = ""): unknown => ({ status, data: { status: { error } } });
const lost = Object.assign(new TypeError("fetch failed"), { cause: new Error("connect ECONNREFUSED") });
const slow = Object.assign(new Error("aborted"), { name: "QdrantClientTimeoutError" });

test.each([
  [lost, "it cannot be reached. Check QDRANT_URL"],
  [slow, "no answer within 500 ms"],
  [answer(401), "it refuses the API key. Check QDRANT_API_KEY."],
  [answer(403, "Global manage access is required"), "a read-only key is not enough"],
  [answer(404), "it is not there"],
  [answer(500, "No space left on device (os error 28)"), "it is full. Check its disk"],
  [answer(507), "it is full. Check its disk"],
  [answer(500, "panic"), "it answered 500. Check its log."],
])("%p says what to check", (thrown, reason) => {
  const error = storeError(thrown, failure);
  expect(error.code).toBe("store_unavailable");
  expect(error.message).toContain("Qdrant at http://qdrant:6333 failed while searching: ");
  expect(error.message).toContain(reason);
  expect(error.cause).toBe(thrown);
});

test.each([
  [answer(400, "Wrong input: Vector dimension error"), "it answered 400. Check its log."],
  [answer(413), "service.max_request_size_mb"],
  [answer(422), "it answered 422. Check its log."],
])("%p is a refusal of what was asked, which would come again", (thrown, reason) => {
  const error = storeError(thrown, failure);
  expect(error.code).toBe("store_refused");
  expect(error.kind.retryable).toBe(false);
  expect(error.message).toContain(reason);
});

test.each([401, 403, 404, 408, 409, 429, 500, 503])("%d is about the server, not about what was asked", (status) => {
  expect(storeError(answer(status), failure).code).toBe("store_unavailable");
});

test("what the server says stays out of the message: it can quote what is stored", () => {
  const { message, details } = storeError(answer(400, "secret text"), failure);
  expect(message + JSON.stringify(details)).not.toContain("secret");
});

test("lost connections and servers that start are asked again; slow and refusing ones are not", () => {
  const passing = (thrown: unknown): boolean => isPassing(storeError(thrown, failure));
  expect([lost, answer(503), answer(429)].map(passing)).toEqual([true, true, true]);
  expect([slow, answer(401), answer(400), answer(500)].map(passing)).toEqual([false, false, false, false]);
});

test("an error of the registry stays as it is", () => {
  const error = new EspalierError("model_dimension", "2 and 3");
  expect(storeError(error, failure)).toBe(error);
  expect(isNotFound(storeError(answer(404), failure))).toBe(true);
  expect(isConflict(storeError(answer(409), failure))).toBe(true);
  expect([isNotFound(error), isConflict(error)]).toEqual([false, false]);
});
