import { expect, test } from "@jest/globals";
import { LIMITS } from "#core";
import { errorOf } from "../testing/error-of.js";
import { checkInsert } from "./check-insert.js";
import type { InsertRequest, Message } from "./insert-request.js";

const conversation = { structure: "conversation" } as const;
const artifact = { structure: "artifact" } as const;
const messages = (...changes: Partial<Message>[]): InsertRequest => ({
  conversation: "c1",
  messages: changes.map((change) => ({ speaker: "Ann", text: "Hi", ...change })),
});

test("any structure takes a tree, only a conversation takes messages", () => {
  expect(checkInsert({ tree: { type: "A" } }, conversation).kind).toBe("tree");
  expect(checkInsert({ xml: "<A/>" }, artifact)).toMatchObject({ kind: "tree", under: null });
  expect(checkInsert(messages({}), conversation).kind).toBe("messages");
  const wrong = errorOf(() => checkInsert(messages({}), artifact));
  expect(wrong.code).toBe("invalid_structure");
  expect(wrong.message).toContain('a memory created with {"structure": "conversation"}');
});

test("`under` must look like a node id", () => {
  const error = errorOf(() => checkInsert({ tree: { type: "A" }, under: "mem_x" }, artifact));
  expect([error.code, error.details["path"]]).toEqual(["node_not_found", "under"]);
});

test.each([
  ["a NUL in a text", messages({}, { text: "\0" }), "invalid_text", "messages[1].text"],
  ["a lone surrogate in a speaker", messages({ speaker: "\udc00" }), "invalid_text", "messages[0].speaker"],
  ["a text of 1 MB", messages({ text: "x".repeat(1_000_000) }), "attribute_too_large", "messages[0].text"],
  ["a metadata name", messages({ metadata: { "a b": 1 } }), "invalid_name", "messages[0].metadata.a b"],
  ["a time that is none", messages({ time: "noon" }), "invalid_request", "messages[0].time"],
  ["no messages", messages(), "invalid_request", "messages"],
])("%s is refused with its place", (_what, request, code, path) => {
  const error = errorOf(() => checkInsert(request, conversation));
  expect([error.code, error.details["path"]]).toEqual([code, path]);
});

test("every bad message is told, with the code of the first", () => {
  const request = messages({ text: "\0" }, {}, { speaker: "\udc00", metadata: { "a b": 1 } }, { time: "noon" });
  const { code, message, details } = errorOf(() => checkInsert(request, conversation));
  expect([code, details["path"]]).toEqual(["invalid_text", "messages[0].text"]);
  expect(message).toMatch(/\(and 3 more\)$/);
  expect((details["errors"] as { path: string }[]).map(({ path }) => path)).toEqual([
    ...["messages[0].text", "messages[2].speaker", "messages[2].metadata.a b", "messages[3].time"],
  ]);
});

test("an insert has 50,000 messages at most", () => {
  const many = messages(...new Array<Partial<Message>>(LIMITS.insertNodes + 1).fill({}));
  expect(errorOf(() => checkInsert(many, conversation)).code).toBe("too_many_nodes");
});
