/**
 * LoCoMo: does `//Turn[node~="<question>"]` find the turns that hold the answer? Each conversation is a memory of its own,
 * inserted as messages. Recall of turns and of sessions (a session ranks by its best turn), by scorer, and within budgets of
 * tokens; the scorers are compared question by question.
 */
import { mean } from "simple-statistics";
import type { ScorerName } from "#memory";
import type { Bench, BenchContext, BenchReport, Goal, ReportTable } from "../bench.js";
import type { Engine } from "../engine/engine.js";
import { readLocomo, sessionOf, type LocomoConversation, type LocomoQuestion } from "../engine/locomo-data.js";
import { openEngine } from "../engine/open-engine.js";
import { turnQuery } from "../engine/turn-query.js";
import { rankGroups, recallAt, recallWithinTokens } from "../metrics/recall.js";
import { distributedMissing } from "../process/distributed.js";
import { pairedDifference, roundTo } from "../metrics/statistics.js";

const DEPTHS = [1, 5, 10, 20] as const;
const BUDGETS = [256, 512, 1_024] as const;
/** More than the turns of any conversation: sessions must be ranked to the end. */
const ROWS = 1_000;

/** Published figures of BM25 on `speaker: text` (README of the data set). */
const ANCHOR = { turnAt10: 0.618, tolerance: 0.01, template: "{speaker}: {text}" } as const;
const GOAL_TURN = 0.68;
const GOAL_SESSION = 0.92;

/** What was measured on one question. */
interface QuestionResult {
  readonly category: number;
  readonly turn: readonly number[];
  readonly session: readonly number[];
  readonly budget: readonly number[];
}

/** A scorer over one way of writing turns as text. */
interface Variant {
  readonly name: string;
  readonly scorer: ScorerName;
  readonly templates: Readonly<Record<string, string>> | undefined;
}

export const locomo: Bench = {
  name: "locomo",
  summary: "recall of answer-bearing turns and sessions in long conversations",
  limit: "conversations",
  profiles: true,
  run: async (context) => {
    const conversations = await readLocomo();
    if (conversations === undefined) return { skipped: "the LoCoMo data set is not beside the checkout" };
    const missing = context.profile === "distributed" ? distributedMissing() : undefined;
    if (missing !== undefined) return { skipped: missing };
    const engine = await openEngine({ profile: context.profile });
    try {
      const results = await runAll(engine, conversations.slice(0, context.limit), context);
      return report(results, context.limit === undefined);
    } finally {
      await engine.close();
    }
  },
};

async function runAll(
  engine: Engine,
  conversations: readonly LocomoConversation[],
  context: BenchContext,
): Promise<ReadonlyMap<Variant, readonly QuestionResult[]>> {
  const variants: readonly Variant[] = [
    ...engine.scorers
      .filter((scorer) => scorer !== "entailment")
      .map((scorer) => ({ name: scorer, scorer, templates: undefined })),
    { name: `lexical, ${ANCHOR.template}`, scorer: "lexical", templates: { Turn: ANCHOR.template } },
  ];
  const results = new Map<Variant, QuestionResult[]>(variants.map((variant) => [variant, []]));
  for (const conversation of conversations) {
    for (const templates of new Set(variants.map((variant) => variant.templates))) {
      context.progress(`locomo: ${conversation.name}, ${templates?.["Turn"] ?? "default template"}`);
      const scope = await engine.createMemory(conversation.name, "conversation", templates);
      await engine.insert(scope, { conversation: conversation.name, messages: conversation.messages });
      for (const variant of variants.filter((candidate) => candidate.templates === templates)) {
        for (const question of conversation.questions) {
          const query = turnQuery(question.question);
          const { rows } = await engine.query(scope, { query, scorer: variant.scorer, topK: ROWS });
          results.get(variant)?.push(
            measure(
              question,
              rows.map(({ metadata, tokens }) => ({ id: String(metadata["source"]), tokens })),
            ),
          );
        }
      }
    }
  }
  return results;
}

function measure(
  question: LocomoQuestion,
  rows: readonly { readonly id: string; readonly tokens: number }[],
): QuestionResult {
  const turns = rows.map(({ id }) => id);
  const sessions = rankGroups(turns, sessionOf);
  const goldSessions = new Set([...question.gold].map(sessionOf));
  return {
    category: question.category,
    turn: DEPTHS.map((depth) => recallAt(turns, question.gold, depth)),
    session: DEPTHS.map((depth) => recallAt(sessions, goldSessions, depth)),
    budget: BUDGETS.map((budget) => recallWithinTokens(rows, question.gold, budget)),
  };
}

function report(results: ReadonlyMap<Variant, readonly QuestionResult[]>, full: boolean): BenchReport {
  const summaries = [...results].map(([variant, questions]) => summarise(variant, questions));
  const named = (name: string): Summary | undefined => summaries.find((summary) => summary.name === name);
  const hybrid = named("hybrid");
  const anchor = named(`lexical, ${ANCHOR.template}`);
  const at10 = DEPTHS.indexOf(10);
  const goals: Goal[] = [
    goal("hybrid turn R@10", hybrid?.turn[at10] ?? 0, `>= ${GOAL_TURN}`, (value) => value >= GOAL_TURN),
    goal("hybrid session R@10", hybrid?.session[at10] ?? 0, `>= ${GOAL_SESSION}`, (value) => value >= GOAL_SESSION),
    goal(
      `lexical turn R@10 with ${ANCHOR.template}`,
      anchor?.turn[at10] ?? 0,
      `${ANCHOR.turnAt10} ± ${ANCHOR.tolerance}`,
      (value) => Math.abs(value - ANCHOR.turnAt10) <= ANCHOR.tolerance,
    ),
  ];
  const pairs = pairTable(results, at10);
  return {
    tables: [...recallTables(summaries), pairs],
    goals: full ? goals : [],
    notes: full ? [] : ["Not all conversations ran: the goals are for all ten."],
    figures: { questions: [...results.values()][0]?.length ?? 0, summaries, pairs },
  };
}

function goal(what: string, value: number, aim: string, met: (value: number) => boolean): Goal {
  return { what, goal: aim, measured: value.toFixed(3), met: met(roundTo(value, 3)) };
}

type Summary = ReturnType<typeof summarise>;

function summarise(variant: Variant, questions: readonly QuestionResult[]) {
  const means = (values: (result: QuestionResult) => readonly number[], of = questions): readonly number[] =>
    (of[0] === undefined ? [] : values(of[0])).map((_, index) =>
      roundTo(mean(of.map((result) => values(result)[index] ?? 0)), 4),
    );
  const categories = [...new Set(questions.map(({ category }) => category))].sort((one, other) => one - other);
  return {
    name: variant.name,
    turn: means(({ turn }) => turn),
    session: means(({ session }) => session),
    budget: means(({ budget }) => budget),
    byCategory: categories.map((category) => {
      const own = questions.filter((question) => question.category === category);
      return { category, questions: own.length, turn: means(({ turn }) => turn, own) };
    }),
  };
}

function recallTables(summaries: readonly Summary[]): readonly ReportTable[] {
  const three = (values: readonly number[]): readonly string[] => values.map((value) => value.toFixed(3));
  const categories = summaries[0]?.byCategory.map(({ category, questions }) => `${category} (${questions})`) ?? [];
  return [
    {
      title: "Recall of turns and sessions",
      columns: ["scorer", ...DEPTHS.map((depth) => `turn @${depth}`), ...DEPTHS.map((depth) => `session @${depth}`)],
      rows: summaries.map(({ name, turn, session }) => [name, ...three(turn), ...three(session)]),
    },
    {
      title: "Recall of turns within a budget of tokens",
      columns: ["scorer", ...BUDGETS.map(String)],
      rows: summaries.map(({ name, budget }) => [name, ...three(budget)]),
    },
    {
      title: "Turn recall@10 by category (questions)",
      columns: ["scorer", ...categories],
      rows: summaries.map(({ name, byCategory }) => [
        name,
        ...three(byCategory.map(({ turn }) => turn[DEPTHS.indexOf(10)] ?? 0)),
      ]),
    },
  ];
}

/** Question by question, against hybrid. */
function pairTable(results: ReadonlyMap<Variant, readonly QuestionResult[]>, depth: number): ReportTable {
  const values = (questions: readonly QuestionResult[]): readonly number[] =>
    questions.map(({ turn }) => turn[depth] ?? 0);
  const hybrid = [...results].find(([{ name }]) => name === "hybrid")?.[1] ?? [];
  return {
    title: "Turn recall@10, hybrid minus the other, question by question",
    columns: ["other", "difference", "95 % interval", "better", "worse", "equal"],
    rows: [...results]
      .filter(([{ name }]) => name !== "hybrid")
      .map(([{ name }, questions]) => {
        const pair = pairedDifference(values(hybrid), values(questions));
        return [name, pair.difference, `${pair.low} to ${pair.high}`, pair.better, pair.worse, pair.equal];
      }),
  };
}
