import type { EvidenceRequest, StructuralRun, StructuralStep } from "#query";
import { comparison, index, range, step } from "../../contract/fixtures.js";
import { evidenceStatement } from "../evidence-statement.js";
import { runStatement, type Statement } from "../run-statement.js";

const RUNS_FROM_ROOT: readonly (readonly [string, readonly StructuralStep[]])[] = [
  ["//T", [step("descendant", "T")]],
  ["//*", [step("descendant")]],
  ["/A", [step("child", "A")]],
  ["/*", [step("child")]],
  ["/A/B", [step("child", "A"), step("child", "B")]],
  ["/A/*/B", [step("child", "A"), step("child"), step("child", "B")]],
  ["/A//B", [step("child", "A"), step("descendant", "B")]],
  ["//A/B", [step("descendant", "A"), step("child", "B")]],
  ["//A//B", [step("descendant", "A"), step("descendant", "B")]],
  ["//A//B//C", [step("descendant", "A"), step("descendant", "B"), step("descendant", "C")]],
  ["//*/*//T", [step("descendant"), step("child"), step("descendant", "T")]],
  ["//A/*//*", [step("descendant", "A"), step("child"), step("descendant")]],
  ["//T[3]", [step("descendant", "T", index(3))]],
  ["//T[-1]", [step("descendant", "T", index(-1))]],
  ["//T[2:5]", [step("descendant", "T", range(2, 5))]],
  ["//T[-3:]", [step("descendant", "T", range(-3))]],
  ["//T[2:]", [step("descendant", "T", range(2))]],
  ["//T[2:-2]", [step("descendant", "T", range(2, -2))]],
  ["//T[-2:2]", [step("descendant", "T", range(-2, 2))]],
  ["/A/B[2]", [step("child", "A"), step("child", "B", index(2))]],
  ["//A[2]//B", [step("descendant", "A", index(2)), step("descendant", "B")]],
  ["//A[-3:]/B[1]", [step("descendant", "A", range(-3)), step("child", "B", index(1))]],
  ["//T[cost<20]", [step("descendant", "T", undefined, [comparison("cost", "<", 20)])]],
  ['//T[name="x"]', [step("descendant", "T", undefined, [comparison("name", "=", "x")])]],
  ['//T[day!="2026-05-01"]', [step("descendant", "T", undefined, [comparison("day", "!=", "2026-05-01")])]],
  [
    "/A/B[2][cost>=20][cost<=30]",
    [step("child", "A"), step("child", "B", index(2), [comparison("cost", ">=", 20), comparison("cost", "<=", 30)])],
  ],
];

const contexts = (...weights: readonly number[]) =>
  weights.map((weight, at) => ({ id: `nod_a${at}`, pathKey: at === 2 ? "a1.a0" : `a${at}`, weight }));

const RUNS: readonly (readonly [string, StructuralRun])[] = [
  ...RUNS_FROM_ROOT.map(([name, steps]) => [name, { contexts: "root", steps, values: false }] as const),
  ["//T, values", { contexts: "root", steps: [step("descendant", "T")], values: true }],
  ["//T, limit", { contexts: "root", steps: [step("descendant", "T")], values: false, limit: 10 }],
  [
    "/A//B, limit",
    { contexts: "root", steps: [step("child", "A"), step("descendant", "B")], values: false, limit: 10 },
  ],
  ["contexts of one weight, /T", { contexts: contexts(1, 1), steps: [step("child", "T")], values: false }],
  ["contexts of one weight, //T", { contexts: contexts(1, 1, 1), steps: [step("descendant", "T")], values: false }],
  ["contexts of weights, /*", { contexts: contexts(1, 0.5), steps: [step("child")], values: false }],
  ["contexts of weights, //T", { contexts: contexts(1, 0.5), steps: [step("descendant", "T")], values: false }],
  [
    "nested contexts of weights, //*//T[2:-2]/B",
    {
      contexts: contexts(1, 0.5, 0.25),
      steps: [step("descendant"), step("descendant", "T", range(2, -2)), step("child", "B")],
      values: false,
    },
  ],
];

const EVIDENCE: readonly (readonly [string, EvidenceRequest["paths"]])[] = [
  ["//T", [{ steps: [step("descendant", "T")], keep: [true] }]],
  ["/A[kept]/B", [{ steps: [step("child", "A"), step("child", "B")], keep: [true, true] }]],
  ["//*//T", [{ steps: [step("descendant"), step("descendant", "T")], keep: [false, true] }]],
  [
    "//A//B//C",
    [
      {
        steps: [step("descendant", "A"), step("descendant", "B"), step("descendant", "C")],
        keep: [false, false, true],
      },
    ],
  ],
  ["//T[-1]", [{ steps: [step("descendant", "T", index(-1))], keep: [true] }]],
  [
    '/A[kept]//B[2:-2][open="true"]',
    [
      {
        steps: [step("child", "A"), step("descendant", "B", range(2, -2), [comparison("open", "=", "true")])],
        keep: [true, true],
      },
    ],
  ],
  [
    "/A and /B[kept]/C",
    [
      { steps: [step("child", "A")], keep: [true] },
      { steps: [step("child", "B"), step("child", "C")], keep: [true, true] },
    ],
  ],
];

/** Shapes that are read at an older revision too: the others have no other indexes. */
const PAST_RUNS = ["//T", "//*", "/A", "/A/*/B", "//A//B", "contexts of weights, /*"];
const PAST_EVIDENCE = ["//T", "/A[kept]/B"];

/** A statement of every shape, by a name that says which. */
export function structureShapes(): readonly (readonly [name: string, statement: Statement])[] {
  const [memory, given] = ["default/mem_1", contexts(1, 1)];
  return [true, false].flatMap((head) => {
    const liveness = { head, revision: 1 };
    const where = head ? "head" : "all states";
    const runs = RUNS.filter(([name]) => head || PAST_RUNS.includes(name));
    const evidence = EVIDENCE.filter(([name]) => head || PAST_EVIDENCE.includes(name));
    return [
      ...runs.map(([name, run]) => [`run ${name} (${where})`, runStatement(run, memory, liveness)] as const),
      ...evidence.map(([name, paths]) => {
        const request = { contexts: given, paths, values: false };
        return [`evidence ${name} (${where})`, evidenceStatement(request, memory, liveness)] as const;
      }),
    ];
  });
}
