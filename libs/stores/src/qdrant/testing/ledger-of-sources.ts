import { EspalierError } from "#core";
import type { PointLedger, PointSource } from "../../distributed/point-ledger.js";

/** A ledger over states that never change, all of whose points are stored: for memories that are too large for plain arrays. */
export function ledgerOfSources(model: string, sources: readonly PointSource[]): PointLedger {
  const known = new Map(sources.map((source) => [source.id, source]));
  const revision = Math.max(...sources.map(({ born }) => born));
  const refused = async (): Promise<never> => {
    throw new EspalierError("internal", "Nothing is written here.");
  };
  return {
    memory: async () => ({ model, revision }),
    sources: async (_, refs) => refs.flatMap(({ id }) => known.get(id) ?? []),
    pending: async () => ({ points: [] }),
    pendingAmong: async () => [],
    standing: async () => ({ model, nodes: sources.length, waits: false, ended: [] }),
    settle: async () => "settled",
    witnesses: async () => ({ model, points: [] }),
    untrack: async () => undefined,
    isIndexed: async (_, field) => field === "",
    indexedFields: async () => [""],
    indexPage: refused,
    statistics: refused,
  };
}
