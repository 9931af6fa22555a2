/**
 * Twenty requests on each example memory, as a person would ask, each with a query and the nodes that are right. They were
 * written before any scorer ran on them. Pass: exactly the right nodes on top.
 */
import { readFile } from "node:fs/promises";
import { mean } from "simple-statistics";
import type { ScorerName } from "#memory";
import type { Bench, BenchContext, BenchReport } from "../bench.js";
import type { Engine } from "../engine/engine.js";
import { EXAMPLES, readExample, type Example } from "../engine/examples.js";
import { openEngine } from "../engine/open-engine.js";
import { judge, type Verdict } from "../metrics/judge.js";
import { roundTo } from "../metrics/statistics.js";

const LEAST_ROWS = 5;
const GOAL_PASS = 0.8;
const GOAL_TOKENS = 0.1;

/** One request of bench/requests. */
interface Request {
  readonly id: string;
  readonly request: string;
  readonly query: string;
  /** Paths. */
  readonly right: readonly string[];
}

interface Outcome extends Verdict {
  readonly memory: Example;
  readonly scorer: ScorerName;
  readonly request: Request;
  /** Tokens of the rows against those of the whole memory. */
  readonly tokenShare: number;
}

export const requests: Bench = {
  name: "requests",
  summary: "60 requests on the example memories: are exactly the right nodes on top?",
  run: async (context) => {
    const engine = await openEngine();
    try {
      return report(await runAll(engine, context));
    } finally {
      await engine.close();
    }
  },
};

async function runAll(engine: Engine, context: BenchContext): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const memory of EXAMPLES) {
    context.progress(`requests: ${memory}`);
    const scope = await engine.createMemory(memory, "artifact");
    await engine.insert(scope, await readExample(memory));
    const { tokens } = await engine.memory(scope);
    for (const request of await readRequests(memory)) {
      for (const scorer of engine.scorers) {
        const topK = Math.max(LEAST_ROWS, request.right.length);
        const result = await engine.query(scope, { query: request.query, scorer, topK });
        const verdict = judge(result.rows, request.right);
        outcomes.push({ ...verdict, memory, scorer, request, tokenShare: result.tokens / tokens });
      }
    }
  }
  return outcomes;
}

async function readRequests(memory: Example): Promise<readonly Request[]> {
  const file = JSON.parse(await readFile(`bench/requests/${memory}.json`, "utf8")) as { requests: readonly Request[] };
  return file.requests;
}

function report(outcomes: readonly Outcome[]): BenchReport {
  const scorers = [...new Set(outcomes.map(({ scorer }) => scorer))];
  const summaries = scorers.map((scorer) => summarise(scorer, outcomes));
  const best = summaries.toSorted((one, other) => other.pass - one.pass)[0];
  const misses = outcomes.filter(({ pass }) => !pass);
  return {
    tables: [
      {
        title: "Requests passed, and tokens of the rows / tokens of the memory",
        columns: ["scorer", ...EXAMPLES, "all", "scored queries only", "tokens"],
        rows: summaries.map((summary) => [
          summary.scorer,
          ...summary.byMemory.map(({ passed, count }) => `${passed} / ${count}`),
          summary.pass.toFixed(3),
          `${summary.scoredPassed} / ${summary.scoredCount}`,
          `${(100 * summary.tokenShare).toFixed(1)} %`,
        ]),
      },
      {
        title: "Every miss",
        columns: ["request", "scorer", "query", "missing", "instead"],
        rows: misses.map(({ request, scorer, missing, intruders }) => [
          request.id,
          scorer,
          request.query,
          missing.join("\n"),
          intruders.join("\n"),
        ]),
      },
    ],
    goals: [
      {
        what: `requests passed by the best scorer (${best?.scorer ?? "none"})`,
        goal: `>= ${GOAL_PASS}`,
        measured: (best?.pass ?? 0).toFixed(3),
        met: (best?.pass ?? 0) >= GOAL_PASS,
      },
      {
        what: "tokens of its rows against the memory",
        goal: `<= ${100 * GOAL_TOKENS} %`,
        measured: `${(100 * (best?.tokenShare ?? 1)).toFixed(1)} %`,
        met: (best?.tokenShare ?? 1) <= GOAL_TOKENS,
      },
    ],
    notes: [
      "Queries without `~=` give every scorer the same rows; `scored queries only` leaves them out.",
      ...(scorers.includes("entailment") ? [] : ["`entailment` did not run: no model for it is configured here."]),
    ],
    figures: { summaries, misses },
  };
}

function summarise(scorer: ScorerName, all: readonly Outcome[]) {
  const outcomes = all.filter((outcome) => outcome.scorer === scorer);
  const scored = outcomes.filter(({ request }) => request.query.includes("~="));
  const passed = (of: readonly Outcome[]): number => of.filter(({ pass }) => pass).length;
  return {
    scorer,
    byMemory: EXAMPLES.map((memory) => {
      const own = outcomes.filter((outcome) => outcome.memory === memory);
      return { memory, passed: passed(own), count: own.length };
    }),
    pass: roundTo(passed(outcomes) / outcomes.length, 4),
    scoredPassed: passed(scored),
    scoredCount: scored.length,
    tokenShare: roundTo(mean(outcomes.map(({ tokenShare }) => tokenShare)), 4),
  };
}
