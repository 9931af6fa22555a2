import { expect, test } from "@jest/globals";
import { nodeText, STRUCTURE_TEMPLATES } from "./node-text.js";

const text = (attributes: Parameters<typeof nodeText>[0]["attributes"], template?: string): string =>
  nodeText({ type: "T", attributes }, template === undefined ? {} : { T: template });

const turn = (attributes: Parameters<typeof nodeText>[0]["attributes"]): string =>
  nodeText({ type: "Turn", attributes }, STRUCTURE_TEMPLATES.conversation);

test("attributes are name: value lines in insertion order, lists joined by a comma", () => {
  expect(text({ name: "Café", cost: 12.5, open: true, tags: ["a", "b"] })).toBe(
    "name: Café\ncost: 12.5\nopen: true\ntags: a, b",
  );
});

test("one attribute is its value alone, none is the empty text", () => {
  expect(text({ name: "Café" })).toBe("Café");
  expect(text({ days: 3 })).toBe("3");
  expect(text({})).toBe("");
});

test("a turn carries its time as people write it, in its own offset", () => {
  const said = { speaker: "Ann", text: "Hello!" };
  expect(turn({ ...said, time: "2023-05-08T13:56:00Z" })).toBe("[8 May 2023, 13:56] Ann: Hello!");
  expect(turn({ ...said, time: "2023-12-31T23:05:09.120+09:00" })).toBe("[31 December 2023, 23:05] Ann: Hello!");
  expect(turn({ ...said, time: "2023-05-08" })).toBe("[8 May 2023] Ann: Hello!");
  expect(turn({ ...said, time: "last Friday" })).toBe("[last Friday] Ann: Hello!");
});

test("what a turn lacks leaves no brackets or colons behind", () => {
  expect(turn({ speaker: "Ann", text: "Hello!" })).toBe("Ann: Hello!");
  expect(turn({ text: "Hello!" })).toBe("Hello!");
  expect(turn({ time: "2023-05-08T13:56:00Z", text: "Hello!" })).toBe("[8 May 2023, 13:56] Hello!");
  expect(turn({})).toBe("");
});

test("a template stands before the lines, and only for its type", () => {
  expect(text({ speaker: "Ann", text: "{speaker} $& {text}" }, "{speaker}: {text}")).toBe("Ann: {speaker} $& {text}");
  expect(nodeText({ type: "Other", attributes: { a: 1, b: 2 } }, { T: "{a}" })).toBe("a: 1\nb: 2");
  expect(text({ a: "x" }, "always this")).toBe("always this");
  expect(text({ name: "Ann" }, "{name} ({city})")).toBe("Ann");
});
