import { expect, test } from "@jest/globals";
import { readTranscript } from "./read-transcript.js";

const lines = (...messages: readonly unknown[]): string =>
  messages.map((message) => JSON.stringify(message)).join("\n");

test("a transcript keeps speaker, text, time, session and metadata", () => {
  const message = {
    speaker: "Ann",
    text: "Hello",
    time: "2026-05-02T10:00:00Z",
    session: "s1",
    metadata: { source: "web" },
  };
  expect(readTranscript(lines(message), "chat.jsonl")).toEqual([{ messages: [message] }]);
});

test("role, content and timestamp of other tools are understood", () => {
  const text = lines({ role: "user", content: "Hi", timestamp: "2026-05-02T10:00:00Z" });
  expect(readTranscript(text, "chat.jsonl")).toEqual([
    { messages: [{ speaker: "user", text: "Hi", time: "2026-05-02T10:00:00Z" }] },
  ]);
});

test("the messages of a conversation stay together, in the order of the file", () => {
  const text = lines(
    { speaker: "A", text: "1", conversation: "x" },
    { speaker: "B", text: "2", conversation: "x" },
    { speaker: "A", text: "3", conversation: "y" },
  );
  expect(readTranscript(`${text}\n\n`, "chat.jsonl")).toEqual([
    {
      conversation: "x",
      messages: [
        { speaker: "A", text: "1" },
        { speaker: "B", text: "2" },
      ],
    },
    { conversation: "y", messages: [{ speaker: "A", text: "3" }] },
  ]);
});

test.each([
  ["a line that is not JSON", `${lines({ speaker: "A", text: "1" })}\n{`, /chat\.jsonl, line 2 is not JSON/],
  ["a line that is no object", "[1]", /line 1 is not a JSON object/],
  ["a message without a speaker", lines({ text: "1" }), /line 1: a message needs/],
  ["a conversation that is no string", lines({ speaker: "A", text: "1", conversation: 1 }), /"conversation"/],
  ["an empty file", "\n\n", /has no message/],
])("%s is refused with its place", (_what, text, message) => {
  expect(() => readTranscript(text, "chat.jsonl")).toThrow(message);
});
