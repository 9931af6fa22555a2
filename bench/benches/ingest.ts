/**
 * Turns per second of an insert over HTTP, until they are stored and searchable, against the texts per second of the
 * embedding model alone: the same texts, the same run. The model is the raw limit, since every text passes through it.
 */
import { mean } from "simple-statistics";
import type { EmbeddingModel } from "#scoring";
import type { Bench, BenchContext, BenchReport, Profile } from "../bench.js";
import { openModel } from "../engine/open-engine.js";
import { sentences } from "../engine/sentences.js";
import { roundTo } from "../metrics/statistics.js";
import { distributedMissing, startDistributed } from "../process/distributed.js";
import { startEspalier, type Espalier } from "../process/espalier.js";

const NODES = 6_000;
/** Model and insert take turns, so that a slow minute of the machine meets both. */
const ROUNDS = 3;
/** The first insert loads the model in the worker; a server in Java takes some ten thousand nodes to come to its speed. */
const WARM_UP: Readonly<Record<Profile, number>> = { embedded: 1, distributed: 5 };
/** The model's best batch (between 8 and 32 texts). */
const RAW_BATCH = 16;
const GOALS: Readonly<Record<Profile, number>> = { embedded: 0.9, distributed: 0.8 };

export const ingest: Bench = {
  name: "ingest",
  summary: "nodes per second into a memory, against the embedding model alone",
  limit: "nodes",
  profiles: true,
  run: async (context) => {
    const missing = context.profile === "distributed" ? distributedMissing() : undefined;
    if (missing !== undefined) return { skipped: missing };
    const perRound = Math.max(1, Math.floor((context.limit ?? NODES) / ROUNDS));
    const texts = await sentences(perRound * (WARM_UP[context.profile] + ROUNDS));
    const espalier = await (context.profile === "distributed" ? startDistributed() : startEspalier());
    try {
      return report(await measure(espalier, texts, perRound, context), perRound, context.profile);
    } finally {
      await espalier.stop();
    }
  },
};

interface Round {
  /** Texts per second. */
  readonly raw: number;
  /** Nodes per second. */
  readonly insert: number;
}

async function measure(
  espalier: Espalier,
  texts: readonly string[],
  perRound: number,
  context: BenchContext,
): Promise<readonly Round[]> {
  const warmUp = WARM_UP[context.profile];
  const own = (round: number): readonly string[] => texts.slice(round * perRound, (round + 1) * perRound);
  for (let round = 0; round < warmUp; round += 1) {
    context.progress(`ingest: warm-up ${round + 1} of ${warmUp}`);
    await insertSpeed(espalier, `warm-up ${round + 1}`, own(round));
  }
  const rounds: Round[] = [];
  const model = await openModel();
  for (let round = warmUp; round < warmUp + ROUNDS; round += 1) {
    context.progress(`ingest: round ${round - warmUp + 1} of ${ROUNDS}`);
    const raw = await rawSpeed(model, own(round));
    rounds.push({ raw, insert: await insertSpeed(espalier, `round ${round}`, own(round)) });
  }
  return rounds;
}

/** The model in this process, sorted by length and batched as it likes best. */
async function rawSpeed(model: EmbeddingModel, texts: readonly string[]): Promise<number> {
  const sorted = texts.toSorted((one, other) => one.length - other.length);
  const started = performance.now();
  for (let at = 0; at < sorted.length; at += RAW_BATCH) await model.embed(sorted.slice(at, at + RAW_BATCH));
  return perSecond(texts.length, started);
}

async function insertSpeed(espalier: Espalier, name: string, texts: readonly string[]): Promise<number> {
  const memory = { name, structure: "conversation", templates: { Turn: "{text}" } };
  const { id } = (await espalier.post("/v1/memories", memory)) as { id: string };
  const started = performance.now();
  await espalier.post(`/v1/memories/${id}/insert`, asMessages(texts));
  return perSecond(texts.length, started);
}

/** One turn a text, which is all that it says: the attributes of a turn have no vectors of their own, as those of artifacts do. */
function asMessages(texts: readonly string[]) {
  return { conversation: "bench", messages: texts.map((text) => ({ speaker: "Ann", text, session: "all" })) };
}

function perSecond(count: number, startedMs: number): number {
  return roundTo((count * 1_000) / (performance.now() - startedMs), 1);
}

function report(rounds: readonly Round[], perRound: number, profile: Profile): BenchReport {
  const goal = GOALS[profile];
  const [raw, insert] = [mean(rounds.map((round) => round.raw)), mean(rounds.map((round) => round.insert))];
  const share = insert / raw;
  return {
    tables: [
      {
        title: `Inserts of ${perRound} nodes (about 30 tokens each) against the model alone`,
        columns: ["round", "model, texts/s", "insert, nodes/s", "share"],
        rows: [
          ...rounds.map((round, index) => [index + 1, round.raw, round.insert, (round.insert / round.raw).toFixed(3)]),
          ["mean", raw.toFixed(1), insert.toFixed(1), share.toFixed(3)],
        ],
      },
    ],
    goals: [
      {
        what: "nodes/s against texts/s of the model",
        goal: `>= ${goal}`,
        measured: share.toFixed(3),
        met: share >= goal,
      },
    ],
    notes: [],
    figures: { profile, perRound, rounds, share: roundTo(share, 4) },
  };
}
