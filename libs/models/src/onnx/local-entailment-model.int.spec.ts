import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LocalEntailmentModel } from "./local-entailment-model.js";

const FIXTURE = "test/fixtures/tiny-nli";

let model: LocalEntailmentModel;
let scratch: string;
beforeAll(async () => {
  model = await LocalEntailmentModel.open(FIXTURE);
  scratch = await mkdtemp(join(tmpdir(), "espalier-nli-"));
});
afterAll(async () => {
  await model.close();
  await rm(scratch, { recursive: true });
});

/** The classifier's definition (see its generator), in words of the vocabulary. */
function expected(shared: number, negated: 0 | 1): { entailment: number; neutral: number; contradiction: number } {
  const [contradiction, neutral, entailment] = [2 + 3 * negated, 1, shared - 2 * negated].map(Math.exp) as [
    number,
    number,
    number,
  ];
  const total = contradiction + neutral + entailment;
  return { entailment: entailment / total, neutral: neutral / total, contradiction: contradiction / total };
}

/** A copy of the classifier with one file changed. */
async function variant(name: string, file: string, change: (content: string) => string): Promise<string> {
  const folder = join(scratch, name);
  await cp(FIXTURE, folder, { recursive: true });
  await writeFile(join(folder, file), change(await readFile(join(folder, file), "utf8")));
  return folder;
}

test("labels are mapped by their names, whatever their order and case", async () => {
  const [probabilities] = await model.entail([{ premise: "poster session", hypothesis: "the poster session" }]);
  const { entailment, neutral, contradiction } = expected(2, 0);
  expect(probabilities!.entailment).toBeCloseTo(entailment, 6);
  expect(probabilities!.neutral).toBeCloseTo(neutral, 6);
  expect(probabilities!.contradiction).toBeCloseTo(contradiction, 6);
});

test("a pair has the same probabilities alone and beside a longer one", async () => {
  const pair = { premise: "not at the museum", hypothesis: "at the museum" };
  const longer = { premise: "lunch and dinner and a keynote and a tutorial on bread", hypothesis: "vegan soup" };
  const [[alone], [beside]] = await Promise.all([model.entail([pair]), model.entail([pair, longer])]);
  expect(beside).toEqual(alone);
  expect(alone!.contradiction).toBeCloseTo(expected(3, 1).contradiction, 6);
});

test("premise and hypothesis are not mixed up by their order", async () => {
  const [probabilities] = await model.entail([{ premise: "hotel", hypothesis: "hotel hotel breakfast" }]);
  expect(probabilities!.entailment).toBeCloseTo(expected(1, 0).entailment, 6);
});

describe("a premise that is too long", () => {
  const filler = "rice ".repeat(40);

  test("is cut at its end, so that what stands first still counts", async () => {
    const [probabilities] = await model.entail([{ premise: `beach ${filler}`, hypothesis: "the beach" }]);
    expect(probabilities!.entailment).toBeCloseTo(expected(1, 0).entailment, 6);
  });

  test("never costs the hypothesis a word", async () => {
    const [probabilities] = await model.entail([{ premise: `${filler} beach`, hypothesis: "milk and bread and rice" }]);
    expect(probabilities!.entailment).toBeCloseTo(expected(1, 0).entailment, 6);
  });

  test("a hypothesis that fills the window alone is refused with its tokens", async () => {
    await expect(model.entail([{ premise: "beach", hypothesis: filler }])).rejects.toMatchObject({
      code: "model_refused",
      details: { tokens: 40, maxTokens: 32 },
    });
  });
});

test.each([
  ["two labels", { 0: "entailment", 1: "not_entailment" }],
  ["no names", { 0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2" }],
  ["a doubled label", { 0: "entailment", 1: "neutral", 2: "entailment" }],
])("labels that do not map are refused by name: %s", async (name, id2label) => {
  const folder = await variant(name, "config.json", () => JSON.stringify({ id2label }));
  await expect(LocalEntailmentModel.open(folder)).rejects.toMatchObject({
    code: "scorer_unavailable",
    message: expect.stringContaining(Object.values(id2label).join(", ")),
  });
});

test("the layout with the weights in onnx/ works too", async () => {
  const folder = await variant("layout", "config.json", (content) => content);
  await cp(join(folder, "model.onnx"), join(folder, "onnx", "model_quantized.onnx"), { recursive: true });
  await rm(join(folder, "model.onnx"));
  const moved = await LocalEntailmentModel.open(folder);
  const [probabilities] = await moved.entail([{ premise: "milk", hypothesis: "buy milk" }]);
  expect(probabilities!.entailment).toBeCloseTo(expected(1, 0).entailment, 6);
  await moved.close();
});

test("a folder whose weights are no ONNX file says so", async () => {
  const folder = await variant("broken", "model.onnx", () => "not a model");
  await expect(LocalEntailmentModel.open(folder)).rejects.toMatchObject({
    code: "model_unusable",
    message: expect.stringContaining("is "),
  });
});

test("a folder without id2label says so", async () => {
  const folder = await variant("unlabelled", "config.json", () => "{}");
  await expect(LocalEntailmentModel.open(folder)).rejects.toMatchObject({
    code: "model_unusable",
    message: expect.stringContaining("config.json with id2label"),
  });
});
