/** Scales a vector to length 1, in place; answers it. A vector of zeros stays as it is, for the caller to refuse. */
export function normalise(vector: Float32Array): Float32Array {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  if (length > 0) for (const [index, value] of vector.entries()) vector[index] = value / length;
  return vector;
}

/** The mean of the windows' vectors, normalised; a lone window is its own mean. */
export function poolWindows(windows: readonly Float32Array[]): Float32Array {
  const [first] = windows;
  if (windows.length === 1 && first !== undefined) return first;
  const mean = new Float32Array(first?.length ?? 0);
  for (const window of windows) for (const [index, value] of window.entries()) mean[index] = (mean[index] ?? 0) + value;
  return normalise(mean.map((value) => value / windows.length));
}
