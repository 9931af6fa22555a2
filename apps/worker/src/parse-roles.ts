import { JOB_KINDS, type JobKind } from "#jobs";

/**
 * Roles as people write them: `query,insert`, or `all`.
 * @throws Error naming what is no role
 */
export function parseRoles(text: string): readonly JobKind[] {
  const names = text.split(",").map((name) => name.trim());
  if (names.length === 1 && names[0] === "all") return JOB_KINDS;
  const unknown = names.filter((name) => !(JOB_KINDS as readonly string[]).includes(name));
  if (unknown.length > 0) {
    throw new Error(`No such role: ${unknown.join(", ")}. Roles are ${JOB_KINDS.join(", ")}, or all.`);
  }
  return JOB_KINDS.filter((kind) => names.includes(kind));
}
