import { EXAMPLES, readExample } from "./examples.js";

/** Conditions of 1 to 5 words that occur in the sentences: frequent and rare ones. */
export const CONDITIONS = [
  "salmon",
  "warm potatoes",
  "chicken with rice",
  "the garage on Mill Street",
  "fireworks over the bay",
  "tomato sauce",
  "ask the insurer about the bill",
  "vegetables",
  "bread and butter",
  "a quiet room with a desk",
];

/**
 * `count` different texts of about 30 tokens, always the same ones: pairs of descriptions from the example memories.
 * At most (descriptions)² texts, which is over 100,000.
 */
export async function sentences(count: number): Promise<readonly string[]> {
  const descriptions = await exampleDescriptions();
  const total = descriptions.length;
  if (count > total * (total - 1)) throw new RangeError(`at most ${total * (total - 1)} texts, not ${count}`);
  return Array.from({ length: count }, (_, index) => {
    const first = index % total;
    // Never the first one again: the distance between the two grows by one every `total` texts.
    const second = (first + 1 + Math.floor(index / total)) % total;
    return `${descriptions[first] ?? ""} ${descriptions[second] ?? ""}`;
  });
}

/** The distinct `description` attributes of all examples, in document order. */
async function exampleDescriptions(): Promise<readonly string[]> {
  const found = new Set<string>();
  const visit = (node: { attributes?: Record<string, unknown>; children?: readonly object[] }): void => {
    const description = node.attributes?.["description"];
    if (typeof description === "string") found.add(description);
    for (const child of node.children ?? []) visit(child);
  };
  for (const name of EXAMPLES) visit((await readExample(name)).tree as object);
  return [...found];
}
