import { expect, test } from "@jest/globals";
import { EspalierError, LIMITS, type MemoryScope } from "#core";
import { Inserter } from "../growers/insert.js";
import type { MemoryServices } from "../services.js";
import { aJob } from "../testing/a-memory.js";
import { openApart } from "../testing/open-apart.js";
import { openServices } from "../testing/open-services.js";
import { WriteQueue } from "../writing/write-queue.js";
import { embedFields } from "./embed-fields.js";
import { reembed } from "./reembed.js";
import { retext } from "./retext.js";

let job = 0;
const by = () => ({ jobId: aJob((job += 1)), time: job, author: "ten" });

async function insert(services: MemoryServices, scope: MemoryScope, names: readonly string[]): Promise<void> {
  const tree = names.map((name) => ({ type: "Day", attributes: { name, note: `about ${name}`, cost: 3 } }));
  await new Inserter(services, new WriteQueue()).insert(scope, { tree }, by());
}

const count = async (services: MemoryServices, scope: MemoryScope, model: string): Promise<number> =>
  (await services.vectors.fingerprint(scope, model)).count;

const days = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from }, (_, index) => `day ${from + index}`);

test("new templates change texts, tokens, terms and vectors of the whole memory, page by page", async () => {
  const { services, createMemory } = openServices();
  const scope = await createMemory({ structure: "conversation" });
  const nodes = LIMITS.maintenancePageNodes + 20;
  await insert(services, scope, days(0, nodes));
  await services.tree.updateMemory(scope, { templates: { Day: "excursion {name}" } }, 1);
  const progress: number[] = [];
  const result = await retext(services, new WriteQueue(), scope, { ...by(), progress: (done) => progress.push(done) });
  expect(result).toEqual({ revision: 3, changed: nodes });
  expect(progress.at(-1)).toBe(nodes);
  const states = await services.tree.scan(scope, { limit: nodes + 1 });
  expect(states.map(({ text }) => text)).toEqual(days(0, nodes).map((name) => `excursion ${name}`));
  const { documents, frequencies } = await services.lexical.statistics(scope, { field: "" }, ["excurs", "about"]);
  expect([documents, frequencies.get("excurs"), frequencies.get("about") ?? 0]).toEqual([nodes, nodes, 0]);
  const read = { revision: 3, model: "bag-of-words", field: "" };
  const everything = { filter: { scope: { kind: "descendants", of: [""] } } } as const;
  expect(await services.vectors.missing(scope, read, everything, 1)).toEqual([]);
  expect(await retext(services, new WriteQueue(), scope, by())).toEqual({ revision: 3, changed: 0 });
  const [before] = await services.tree.nodes(scope, 1, [states[0]!.id]);
  expect(before?.text).toContain("about day 0");
});

test("a memory moves to another model while inserts go on, and leaves no vector behind", async () => {
  const { services, otherModel, createMemory } = openServices();
  const scope = await createMemory({ structure: "conversation" });
  await insert(services, scope, days(0, 30));
  await services.tree.updateMemory(scope, { nextEmbeddingModel: "other-words" }, 1);
  const embed = otherModel.embed.bind(otherModel);
  otherModel.embed = async (texts) => {
    otherModel.embed = embed;
    await insert(services, scope, days(30, 35));
    return embed(texts);
  };
  const result = await reembed(services, new WriteQueue(), scope, {});
  expect(result).toEqual({ model: "other-words", embedded: 35, deleted: 35 });
  const memory = await services.tree.getMemory(scope);
  expect([memory.embeddingModel, memory.nextEmbeddingModel, memory.revision]).toEqual(["other-words", undefined, 2]);
  expect(await count(services, scope, "bag-of-words")).toBe(0);
  expect(await count(services, scope, "other-words")).toBe(35);
  expect(await reembed(services, new WriteQueue(), scope, {})).toEqual({
    model: "other-words",
    embedded: 0,
    deleted: 0,
  });
});

test("a move that was cut short after its switch is ended by the next run", async () => {
  for (const { services, createMemory } of [openServices(), openApart()]) {
    const scope = await createMemory({ structure: "conversation" });
    await insert(services, scope, days(0, 10));
    await services.tree.updateMemory(scope, { nextEmbeddingModel: "other-words" }, 1);
    const deleteFormer = services.vectors.deleteFormer.bind(services.vectors);
    services.vectors.deleteFormer = () => Promise.reject(new Error("killed"));
    await expect(reembed(services, new WriteQueue(), scope, {})).rejects.toThrow("killed");
    services.vectors.deleteFormer = deleteFormer;
    const { deleted } = await reembed(services, new WriteQueue(), scope, {});
    expect(deleted).toBe((await count(services, scope, "other-words")) - (services.apart === undefined ? 0 : 10));
    expect(await count(services, scope, "bag-of-words")).toBe(0);
    expect(await services.tree.getMemory(scope)).not.toHaveProperty("nextEmbeddingModel");
  }
});

test("a move that failed goes on where it was", async () => {
  const { services, otherModel, createMemory } = openServices();
  const scope = await createMemory({ structure: "conversation" });
  await insert(services, scope, days(0, 10));
  await services.tree.updateMemory(scope, { nextEmbeddingModel: "other-words" }, 1);
  otherModel.failure = new Error("down");
  await expect(reembed(services, new WriteQueue(), scope, {})).rejects.toThrow();
  expect(await services.tree.getMemory(scope)).toMatchObject({ embeddingModel: "bag-of-words" });
  otherModel.failure = undefined;
  expect(await reembed(services, new WriteQueue(), scope, {})).toMatchObject({ embedded: 10 });
});

test("a text that the new model refuses does not hold a memory back", async () => {
  for (const { services, otherModel, createMemory } of [openServices(), openApart()]) {
    const scope = await createMemory({ structure: "conversation" });
    await insert(services, scope, [...days(0, 5), "poison"]);
    await services.tree.updateMemory(scope, { nextEmbeddingModel: "other-words" }, 1);
    const embed = otherModel.embed.bind(otherModel);
    otherModel.embed = async (texts) => {
      if (texts.some((text) => text.includes("poison"))) throw new EspalierError("model_refused", "Not this one.");
      return embed(texts);
    };
    expect(await reembed(services, new WriteQueue(), scope, {})).toMatchObject({ model: "other-words", embedded: 5 });
    expect(await count(services, scope, "other-words")).toBe(5);
  }
});

test("the batch lane embeds and indexes an artifact's string attributes, once", async () => {
  const { services, createMemory } = openServices();
  const scope = await createMemory();
  await insert(services, scope, ["beach", "museum"]);
  expect(await embedFields(services, scope)).toEqual({ fields: ["name", "note"], embedded: 4 });
  expect(await embedFields(services, scope)).toEqual({ fields: ["name", "note"], embedded: 0 });
  expect(await services.lexical.indexed(scope, "name")).toBe(true);
  await insert(services, scope, ["concert"]);
  const { documents, frequencies } = await services.lexical.statistics(scope, { field: "name" }, ["concert"]);
  expect([documents, frequencies.get("concert")]).toEqual([3, 1]);
  expect(await embedFields(services, scope)).toMatchObject({ embedded: 2 });
});

test("a conversation declares no attribute fields", async () => {
  const { services, createMemory } = openServices();
  const scope = await createMemory({ structure: "conversation" });
  await insert(services, scope, ["beach"]);
  expect(await embedFields(services, scope)).toEqual({ fields: [], embedded: 0 });
});

test("where vectors lie apart the batch lane only tracks and indexes the fields, and makes rows for them", async () => {
  const { services, model, createMemory } = openApart();
  const scope = await createMemory();
  await insert(services, scope, ["beach", "museum"]);
  expect(await embedFields(services, scope)).toEqual({ fields: ["name", "note"], embedded: 0 });
  expect(model.asked).toEqual([]);
  expect(await services.apart.outbox.tracked(scope, "bag-of-words")).toEqual(["", "name", "note"]);
  expect(await services.apart.outbox.backlog(1)).toEqual([{ tenant: "default", rows: 6 }]);
  expect(await services.lexical.indexed(scope, "note")).toBe(true);
});

test("where vectors lie apart a memory moves to another model too, and its texts follow its templates", async () => {
  const { services, createMemory } = openApart();
  const scope = await createMemory({ structure: "conversation" });
  await insert(services, scope, days(0, 30));
  await services.tree.updateMemory(scope, { nextEmbeddingModel: "other-words", templates: { Day: "on {name}" } }, 1);
  expect(await retext(services, new WriteQueue(), scope, by())).toMatchObject({ changed: 30 });
  const result = await reembed(services, new WriteQueue(), scope, {});
  expect(result).toMatchObject({ model: "other-words", embedded: 30 });
  expect(await services.tree.getMemory(scope)).toMatchObject({ embeddingModel: "other-words" });
  expect(await count(services, scope, "bag-of-words")).toBe(0);
  expect((await services.apart.outbox.expectation(scope, "bag-of-words")).pending).toBe(0);
});
