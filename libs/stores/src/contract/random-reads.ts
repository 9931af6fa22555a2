import fc from "fast-check";
import type { NodeFilter, NodeKey } from "#core";
import type { EvidencePath, Position, StructuralRun, StructuralStep } from "#query";
import { comparison, unit } from "./fixtures.js";
import { TYPES } from "./random-history.js";

/** A random structural run; contexts are picked among the nodes that live. */
export interface RandomRun {
  readonly steps: readonly StructuralStep[];
  /** Undefined: from the root. */
  readonly contexts: readonly { readonly at: number; readonly weight: number }[] | undefined;
  readonly values: boolean;
}

const places = fc.integer({ min: 1, max: 4 }).chain((place) => fc.constantFrom(place, -place));
const end = fc.option(places, { nil: undefined });
const position: fc.Arbitrary<Position> = fc.oneof(
  fc.record({ kind: fc.constant("index"), index: places }),
  fc.record({ kind: fc.constant("range"), from: end, to: end }),
);
const comparisons = fc
  .tuple(
    fc.constantFrom("title", "cost", "tags", "date", "none"),
    fc.constantFrom("=", "!=", "<", "<=", ">", ">="),
    fc.constantFrom<string | number>("red", "3", 3, 2.5, "true", "x", "2026-05-01", "2026-05-02", "M"),
  )
  .map(([name, operator, value]) => comparison(name, operator, value));
const step: fc.Arbitrary<StructuralStep> = fc.record({
  axis: fc.constantFrom("child", "descendant", "descendant"),
  type: fc.option(fc.constantFrom(...TYPES, "A", "D"), { nil: undefined, freq: 4 }),
  position: fc.option(position, { nil: undefined, freq: 2 }),
  comparisons: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(comparisons, { maxLength: 2 }) },
  ),
});
const steps = fc.array(step, { minLength: 1, maxLength: 4 });

export const randomRuns: fc.Arbitrary<RandomRun> = fc.record({
  steps,
  contexts: fc.option(
    fc.array(fc.record({ at: fc.nat(100), weight: fc.constantFrom(1, 0.5, 0.25) }), { maxLength: 5 }),
    { nil: undefined },
  ),
  values: fc.boolean(),
});

export const randomPaths: fc.Arbitrary<readonly EvidencePath[]> = fc.array(
  fc.tuple(steps, fc.array(fc.boolean(), { minLength: 4, maxLength: 4 })).map(([some, keep]) => ({
    steps: some,
    keep: some.map((_, index) => keep[index] === true),
  })),
  { minLength: 1, maxLength: 3 },
);

/** A random filter over nodes that are picked later. */
export interface RandomFilter {
  readonly type: string | undefined;
  readonly kind: "descendants" | "children";
  readonly of: readonly number[];
}

export const randomFilters: fc.Arbitrary<RandomFilter> = fc.record({
  type: fc.option(fc.constantFrom(...TYPES), { nil: undefined }),
  kind: fc.constantFrom("descendants", "children"),
  of: fc.array(fc.nat(100), { minLength: 1, maxLength: 3 }),
});

export const randomVectors: fc.Arbitrary<Float32Array> = fc
  .tuple(fc.integer({ min: -2, max: 2 }), fc.integer({ min: -2, max: 2 }), fc.integer({ min: 1, max: 2 }))
  .map((numbers) => unit(...numbers));

/** The run over the nodes that live; picks of an empty memory are of the root. */
export function runOver(nodes: readonly NodeKey[], { steps: some, contexts, values }: RandomRun): StructuralRun {
  if (contexts === undefined) return { steps: some, values, contexts: "root" };
  const picked = contexts.flatMap(({ at, weight }) => {
    const node = nodes[at % Math.max(1, nodes.length)];
    return node === undefined ? [] : [[node.id, { id: node.id, pathKey: node.pathKey, weight }] as const];
  });
  return { steps: some, values, contexts: [...new Map(picked).values()] };
}

/** The filter over the nodes that live; a pick of the first is of the root. */
export function filterOver(nodes: readonly NodeKey[], { type, kind, of }: RandomFilter): NodeFilter {
  const picked = of.map((at) => nodes[(at % (nodes.length + 1)) - 1]);
  return {
    ...(type !== undefined && { type }),
    scope:
      kind === "children"
        ? { kind, of: picked.map((node) => node?.id ?? null) }
        : { kind, of: picked.map((node) => node?.pathKey ?? "") },
  };
}
