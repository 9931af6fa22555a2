import { isDescendantPath } from "#core";

/** The paths that lie in no other, in document order, each once: their descendants are those of all. O(n log n). */
export function outermostPaths(paths: readonly string[]): readonly string[] {
  let last: string | undefined;
  return [...paths].sort().filter((path) => {
    if (last !== undefined && (path === last || isDescendantPath(path, last))) return false;
    last = path;
    return true;
  });
}
