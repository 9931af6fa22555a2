import fc from "fast-check";
import { generateKeyBetween } from "fractional-indexing";
import { type AttributeValue, fieldText, isDescendantPath, type NodeState } from "#core";
import { type ChangeSet, childPath, type NewState, positionKeyOf } from "#memory";
import { termWeights } from "#scoring";
import { change, MODEL, unit } from "./fixtures.js";

/** The fields that random queries ask about. */
export const FIELDS = ["", "title"];
export const TYPES = ["A", "B", "C"];
const WORDS = ["red", "green", "blue", "sea"];

type Values = Readonly<Record<string, AttributeValue>>;

/** What a random node says. */
interface Content {
  readonly type: string;
  readonly attributes: Values;
  readonly metadata: Values;
  readonly text: string;
  readonly direction: readonly [number, number, number] | undefined;
}

/** One step of a history; `at` picks a node among those that live. */
export type Edit =
  | { readonly kind: "add"; readonly at: number; readonly place: number; readonly content: Content }
  | { readonly kind: "change"; readonly at: number; readonly content: Content }
  | { readonly kind: "remove"; readonly at: number };

const text = fc.array(fc.constantFrom(...WORDS), { maxLength: 3 }).map((words) => words.join(" "));
const attributes: fc.Arbitrary<Values> = fc.record(
  {
    title: fc.oneof(
      text,
      fc.integer({ min: 0, max: 3 }),
      fc.boolean(),
      fc.array(fc.constantFrom(...WORDS), { maxLength: 2 }),
    ),
    cost: fc.oneof(fc.integer({ min: -2, max: 4 }), fc.constantFrom("3", "2.5", 2.5, 1e21, "many")),
    date: fc.constantFrom("2026-05-01", "2026-05-01T02:00:00+02:00", "2026-05-02T10:30:00Z", "May"),
  },
  { requiredKeys: [] },
);
const metadata: fc.Arbitrary<Values> = fc.record(
  { cost: fc.integer({ min: 0, max: 3 }), tags: fc.array(fc.constantFrom("x", "y", "3"), { maxLength: 2 }) },
  { requiredKeys: [] },
);
const sign = fc.constantFrom(-1, 0, 1);
const direction = fc.tuple(sign, sign, sign).filter((numbers) => numbers.some((number) => number !== 0));
const content: fc.Arbitrary<Content> = fc.record({
  type: fc.constantFrom(...TYPES, "A"),
  attributes,
  metadata,
  text,
  direction: fc.option(direction, { nil: undefined, freq: 8 }),
});
const at = fc.nat(1_000);
const edit: fc.Arbitrary<Edit> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("add"), at, place: at, content }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("change"), at, content }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("remove"), at }) },
);

/** Revisions of a memory, each a list of edits. */
export const histories: fc.Arbitrary<readonly (readonly Edit[])[]> = fc.array(
  fc.array(edit, { minLength: 1, maxLength: 14 }),
  { minLength: 1, maxLength: 4 },
);

/** Turns edits into change sets; keeps the states that live. */
export class HistoryWriter {
  #live: readonly NodeState[] = [];
  #revision = 0;
  #ids = 0;

  /** The change set of the next revision. A node is touched at most once in it. */
  next(edits: readonly Edit[], fields: readonly string[]): ChangeSet {
    const born = this.#revision + 1;
    const states: NewState[] = [];
    const ends = new Set<string>();
    const directions = new Map<string, Content["direction"]>();
    for (const one of edits) {
      const settled = this.#live.filter((node) => node.born < born);
      if (one.kind === "add") {
        const added = this.#add(one, born);
        states.push(added);
        directions.set(added.id, one.content.direction);
      } else if (one.kind === "change" && settled.length > 0) {
        const changed = this.#change(pick(settled, one.at), one.content, born);
        states.push(changed);
        ends.add(changed.id);
        directions.set(changed.id, one.content.direction);
      } else if (settled.length > 0) {
        this.#remove(pick(settled, one.at), born).forEach((id) => ends.add(id));
      }
    }
    this.#revision = born;
    const living = new Set(this.#live.map(({ id }) => id));
    const kept = states.filter(({ id }) => living.has(id));
    return change(born - 1, {
      states: kept,
      ends: [...ends],
      vectors: kept.flatMap(({ id, text: own }) => {
        const numbers = directions.get(id);
        return own === "" || numbers === undefined
          ? []
          : [{ id, field: "", model: MODEL, embedding: { vector: unit(...numbers), windowed: false } }];
      }),
      terms: kept.flatMap((node) => termsOf(node, fields)),
      termFields: fields,
    });
  }

  #add({ at: parentAt, place, content: said }: Extract<Edit, { kind: "add" }>, born: number): NewState {
    const parent = parentAt % (this.#live.length + 1) === 0 ? undefined : pick(this.#live, parentAt);
    const parentId = parent?.id ?? null;
    const siblings = this.#live
      .filter((node) => node.parentId === parentId)
      .map(({ pathKey }) => positionKeyOf(pathKey))
      .sort();
    const before = place % (siblings.length + 1);
    const key = generateKeyBetween(siblings[before - 1] ?? null, siblings[before] ?? null);
    this.#ids += 1;
    const { type, attributes: own, metadata: about, text: says } = said;
    const node: NodeState = {
      id: `nod_${this.#ids}`,
      born,
      type,
      parentId,
      pathKey: childPath(parent?.pathKey ?? "", key),
      depth: (parent?.depth ?? 0) + 1,
      attributes: own,
      metadata: about,
      text: says,
      tokens: says.length,
    };
    this.#live = [...this.#live, node];
    return node;
  }

  #change(node: NodeState, said: Content, born: number): NewState {
    const { type, attributes: own, metadata: about, text: says } = said;
    const changed = { ...node, born, type, attributes: own, metadata: about, text: says, tokens: says.length };
    this.#live = [...this.#live.filter(({ id }) => id !== node.id), changed];
    return changed;
  }

  /** Ends a subtree, unless something in it is of this revision. */
  #remove(root: NodeState, born: number): readonly string[] {
    const subtree = this.#live.filter((node) => node === root || isDescendantPath(node.pathKey, root.pathKey));
    if (subtree.some((node) => node.born === born)) return [];
    this.#live = this.#live.filter((node) => !subtree.includes(node));
    return subtree.map(({ id }) => id);
  }
}

/** The weights of the fields' texts. */
function termsOf(node: NewState, fields: readonly string[]): readonly ChangeSet["terms"][number][] {
  return fields.flatMap((field) => {
    const said = fieldText(node, field) ?? "";
    return said === "" ? [] : [{ id: node.id, field, weights: termWeights(said) }];
  });
}

function pick<T>(items: readonly T[], position: number): T {
  return items[position % items.length]!;
}
