/** Unit vectors in clusters, as embeddings of texts lie: equal seeds give equal vectors. */
export function clusteredVectors(
  seed: number,
  { count, dimension, clusters }: { readonly count: number; readonly dimension: number; readonly clusters: number },
): readonly Float32Array[] {
  const random = generator(seed);
  const gauss = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const centres = Array.from({ length: clusters }, () => Float32Array.from({ length: dimension }, gauss));
  return Array.from({ length: count }, () => {
    const centre = centres[Math.floor(random() * clusters)] ?? new Float32Array(dimension);
    const around = centre.map((value) => value + 0.8 * gauss());
    const length = Math.hypot(...around);
    return around.map((value) => value / length);
  });
}

/** Mulberry32: numbers in [0, 1). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
