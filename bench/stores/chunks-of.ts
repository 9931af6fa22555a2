/** The items some at a time, in order. */
export function* chunksOf<Item>(items: Iterable<Item>, size: number): Generator<readonly Item[]> {
  let chunk: Item[] = [];
  for (const item of items) {
    if (chunk.length === size) {
      yield chunk;
      chunk = [];
    }
    chunk.push(item);
  }
  if (chunk.length > 0) yield chunk;
}
