import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { LocalEmbeddingModel } from "./local-embedding-model.js";

const FOLDER = join(process.env["ESPALIER_MODELS"] ?? ".models", "all-MiniLM-L6-v2");

let model: LocalEmbeddingModel;
beforeAll(async () => {
  model = await LocalEmbeddingModel.open(FOLDER);
});
afterAll(() => model.close());

const vectorOf = async (text: string): Promise<Float32Array> => (await model.embed([text]))[0]!.vector;
const dot = (left: Float32Array, right: Float32Array): number =>
  left.reduce((sum, value, index) => sum + value * right[index]!, 0);

test("the set-up has put the model where the adapter looks", () => {
  expect(existsSync(join(FOLDER, "model.onnx"))).toBe(true);
});

test("a model is known by its name and the hash of its weights", () => {
  expect(model.id).toBe("all-MiniLM-L6-v2@8199be6f699a");
  expect(model.dimension).toBe(384);
  expect(model.maxTokens).toBe(256);
});

test("a text has the same vector alone and beside a longer one", async () => {
  const short = "Book the workshop hotel";
  const long = "The conference begins on Sunday with tutorials in four rooms, and ends on Friday. ".repeat(8);
  const [beside] = await model.embed([short, long]);
  expect(1 - dot(await vectorOf(short), beside!.vector)).toBeLessThanOrEqual(1e-6);
});

test("meaning is what is near", async () => {
  const conference = await vectorOf("conference");
  expect(dot(conference, await vectorOf("Attend the keynote and the poster session"))).toBeGreaterThan(
    dot(conference, await vectorOf("Buy two litres of milk")),
  );
});

test("cosines agree with the published ones of the model, up to its int8 weights", async () => {
  const [person, dog, veryHappy, sunny] = await model.embed([
    "That is a happy person",
    "That is a happy dog",
    "That is a very happy person",
    "Today is a sunny day",
  ]);
  expect(Math.abs(dot(person!.vector, dog!.vector) - 0.695)).toBeLessThan(0.01);
  expect(Math.abs(dot(person!.vector, veryHappy!.vector) - 0.943)).toBeLessThan(0.01);
  expect(Math.abs(dot(person!.vector, sunny!.vector) - 0.257)).toBeLessThan(0.01);
});

test("a text longer than the window is embedded in windows and marked", async () => {
  const text = Array.from({ length: 400 }, (_, index) => `word${index % 7}`).join(" ");
  const [embedding, short] = await model.embed([text, "short"]);
  expect(embedding!.windowed).toBe(true);
  expect(short!.windowed).toBe(false);
  expect(dot(embedding!.vector, embedding!.vector)).toBeCloseTo(1, 5);
});

test("what stands beyond the first window counts", async () => {
  const filler = "the of and to in is it on at by ".repeat(60);
  const [plain, ending] = await model.embed([filler, `${filler} ${"poster session about parsing ".repeat(40)}`]);
  const topic = await vectorOf("poster session about parsing");
  expect(dot(topic, ending!.vector)).toBeGreaterThan(dot(topic, plain!.vector) + 0.1);
});

test("an aborted signal stops between two calls", async () => {
  const controller = new AbortController();
  const running = model.embed(
    Array.from({ length: 200 }, (_, index) => `text number ${index}`),
    controller.signal,
  );
  controller.abort();
  await expect(running).rejects.toMatchObject({ code: "cancelled" });
});

test("a folder without a model is named with what to do", async () => {
  await expect(LocalEmbeddingModel.open("no/such/folder")).rejects.toMatchObject({
    code: "model_unusable",
    message: expect.stringMatching(/no\/such\/folder lacks a model .*: put it there/),
  });
});
