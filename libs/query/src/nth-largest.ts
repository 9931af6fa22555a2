/**
 * The n-th largest of the values, 0 if there are fewer. A heap of the n largest, smallest on top: most values fail one
 * comparison. O(values * log n) at worst.
 */
export function nthLargest(values: Float64Array, n: number): number {
  if (n < 1 || n > values.length) return 0;
  const heap = values.slice(0, n).sort();
  for (let at = n; at < values.length; at++) {
    const value = values[at] ?? 0;
    if (value > (heap[0] ?? 0)) replaceSmallest(heap, value);
  }
  return heap[0] ?? 0;
}

function replaceSmallest(heap: Float64Array, value: number): void {
  let at = 0;
  for (;;) {
    const left = 2 * at + 1;
    if (left >= heap.length) break;
    const right = left + 1;
    const child = right < heap.length && (heap[right] ?? 0) < (heap[left] ?? 0) ? right : left;
    if ((heap[child] ?? 0) >= value) break;
    heap[at] = heap[child] ?? 0;
    at = child;
  }
  heap[at] = value;
}
