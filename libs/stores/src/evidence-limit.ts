import { EspalierError, LIMITS } from "#core";
import type { EvidencePath, EvidenceRequest } from "#query";

/** The steps whose nodes a chain has: the last always is. */
export function keptSteps({ keep }: Pick<EvidencePath, "keep">): readonly number[] {
  return keep.flatMap((kept, index) => (kept || index === keep.length - 1 ? [index] : []));
}

/** Chains that one request may have: nested `//` steps with predicates multiply, so they are bounded by their nodes. */
export function maximumChains({ paths }: Pick<EvidenceRequest, "paths">): number {
  return Math.floor(LIMITS.evidenceNodes / Math.max(1, ...paths.map((path) => keptSteps(path).length)));
}

/** What a request with more chains than that answers. */
export function tooMuchEvidence(): EspalierError {
  return new EspalierError(
    "too_much_evidence",
    `The aggregates of this query reach more than ${LIMITS.evidenceNodes} evidence nodes in all.`,
    { details: { limit: LIMITS.evidenceNodes } },
  );
}
