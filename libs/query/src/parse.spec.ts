import { describe, expect, test } from "@jest/globals";
import { EspalierError } from "#core";
import type { Query, Relevance, Step } from "./ast.js";
import { parse } from "./parse.js";

const step = (part: Partial<Step> = {}): Step => ({
  kind: "step",
  axis: "descendant",
  type: "A",
  position: undefined,
  predicates: [],
  ...part,
});
const query = (...steps: Step[]): Query => ({ kind: "query", steps });
const local = (text: string, field = ""): Relevance => ({ kind: "local", field, text });
const x = local("x");
const y = local("y");
const open: Relevance = { kind: "comparison", name: "open", operator: "=", value: "yes" };
const path = query(step({ axis: "child", type: "B", predicates: [x] }));

/** The tree and canonical text of `//A[…]`, by what stands in the bracket. */
const bracket = (text: string): { readonly relevance: Relevance | undefined; readonly canonical: string } => {
  const { ast, canonical } = parse(`//A[${text}]`);
  return { relevance: ast.steps[0]?.predicates[0], canonical: canonical.slice("//A[".length, -1) };
};

describe("steps", () => {
  test.each<[string, Query, string]>([
    ["/A", query(step({ axis: "child" })), "/A"],
    ["//A", query(step()), "//A"],
    ["/*", query(step({ axis: "child", type: undefined })), "/*"],
    [" // A / * ", query(step(), step({ axis: "child", type: undefined })), "//A/*"],
    ["//A/B//C", query(step(), step({ axis: "child", type: "B" }), step({ type: "C" })), "//A/B//C"],
    ["//node", query(step({ type: "node" })), "//node"],
    ["//avg", query(step({ type: "avg" })), "//avg"],
    ["//Überschrift-2.1_字", query(step({ type: "Überschrift-2.1_字" })), "//Überschrift-2.1_字"],
    ["//_٣", query(step({ type: "_٣" })), "//_٣"],
  ])("%s", (text, ast, canonical) => {
    expect(parse(text).ast).toEqual(ast);
    expect(parse(text).canonical).toBe(canonical);
  });

  test("a name takes the longest match, hyphens and dots included", () => {
    expect(parse("//a-b.c").ast).toEqual(query(step({ type: "a-b.c" })));
  });

  test("a name may have 128 characters, counted as code points", () => {
    expect(parse(`//${"𐐀".repeat(128)}`).ast.steps[0]?.type).toBe("𐐀".repeat(128));
  });
});

describe("positions", () => {
  test.each([
    ["[3]", { kind: "index", index: 3 }, "[3]"],
    ["[ - 1 ]", { kind: "index", index: -1 }, "[-1]"],
    ["[2:4]", { kind: "range", from: 2, to: 4 }, "[2:4]"],
    ["[-3:-1]", { kind: "range", from: -3, to: -1 }, "[-3:-1]"],
    ["[2:]", { kind: "range", from: 2, to: undefined }, "[2:]"],
    ["[:-2]", { kind: "range", from: undefined, to: -2 }, "[:-2]"],
    ["[:]", { kind: "range", from: undefined, to: undefined }, "[:]"],
    ["[99999999999999999999]", { kind: "index", index: Number.MAX_SAFE_INTEGER }, `[${Number.MAX_SAFE_INTEGER}]`],
  ])("%s", (text, position, canonical) => {
    const parsed = parse(`//A${text}[node~="x"]`);
    expect(parsed.ast.steps[0]).toEqual(step({ position: position as Step["position"], predicates: [x] }));
    expect(parsed.canonical).toBe(`//A${canonical}[node~="x"]`);
  });
});

describe("relevances", () => {
  test.each<[string, Relevance, string]>([
    // Local
    ['node~="x"', x, 'node~="x"'],
    ["node~'x'", x, 'node~="x"'],
    ['node ≈ "x"', x, 'node~="x"'],
    ['[node~="x"]', x, 'node~="x"'],
    ['name~="x"', local("x", "name"), 'name~="x"'],
    ['min~="x"', local("x", "min"), 'min~="x"'],
    // Comparison
    ['open="yes"', open, 'open="yes"'],
    ['[open="yes"]', open, 'open="yes"'],
    ['open!="yes"', { ...open, operator: "!=" }, 'open!="yes"'],
    ["cost<20", { kind: "comparison", name: "cost", operator: "<", value: 20 }, "cost<20"],
    ["cost<=-2.5", { kind: "comparison", name: "cost", operator: "<=", value: -2.5 }, "cost<=-2.5"],
    ["cost>1e3", { kind: "comparison", name: "cost", operator: ">", value: 1000 }, "cost>1000"],
    ["cost>=007.50E-1", { kind: "comparison", name: "cost", operator: ">=", value: 0.75 }, "cost>=0.75"],
    ["cost=-0", { kind: "comparison", name: "cost", operator: "=", value: 0 }, "cost=0"],
    ["cost=1e+30", { kind: "comparison", name: "cost", operator: "=", value: 1e30 }, "cost=1e+30"],
    ["avg=1", { kind: "comparison", name: "avg", operator: "=", value: 1 }, "avg=1"],
    ['node="x"', { kind: "comparison", name: "node", operator: "=", value: "x" }, 'node="x"'],
    // Product
    ['node~="x"*node~="y"', { kind: "product", factors: [x, y] }, 'node~="x"*node~="y"'],
    ['node~="x"·open="yes"', { kind: "product", factors: [x, open] }, 'node~="x"*open="yes"'],
    ['[node~="x"] * [node~="y"] * node~="x"', { kind: "product", factors: [x, y, x] }, 'node~="x"*node~="y"*node~="x"'],
    [
      '(node~="x"*node~="y")*node~="x"',
      { kind: "product", factors: [{ kind: "product", factors: [x, y] }, x] },
      '(node~="x"*node~="y")*node~="x"',
    ],
    // Complement
    ['1-node~="x"', { kind: "complement", operand: x }, '1-[node~="x"]'],
    ['1 - [ node ~= "x" ]', { kind: "complement", operand: x }, '1-[node~="x"]'],
    ['1-1-node~="x"', { kind: "complement", operand: { kind: "complement", operand: x } }, '1-1-[node~="x"]'],
    [
      '1-(node~="x"*node~="y")',
      { kind: "complement", operand: { kind: "product", factors: [x, y] } },
      '1-(node~="x"*node~="y")',
    ],
    [
      '(1-node~="x")*node~="y"',
      { kind: "product", factors: [{ kind: "complement", operand: x }, y] },
      '(1-[node~="x"])*node~="y"',
    ],
    [
      "1-max(/B)",
      {
        kind: "complement",
        operand: { kind: "aggregate", fold: "max", path: query(step({ axis: "child", type: "B" })) },
      },
      "1-max(/B)",
    ],
    // Parentheses
    ['((node~="x"))', x, 'node~="x"'],
    // Mean
    ['(node~="x"+node~="y")/2', { kind: "mean", terms: [x, y] }, '(node~="x"+node~="y")/2'],
    [
      '( node~="x" + node~="y" * node~="x" + 1-node~="y" ) / 3',
      { kind: "mean", terms: [x, { kind: "product", factors: [y, x] }, { kind: "complement", operand: y }] },
      '(node~="x"+node~="y"*node~="x"+1-[node~="y"])/3',
    ],
    [
      '(node~="x"+node~="y")/2*node~="x"',
      { kind: "product", factors: [{ kind: "mean", terms: [x, y] }, x] },
      '(node~="x"+node~="y")/2*node~="x"',
    ],
    // Combine
    ['min(node~="x",node~="y")', { kind: "combine", fold: "min", terms: [x, y] }, 'min(node~="x",node~="y")'],
    [
      'max ( node~="x" , node~="y" , open="yes" )',
      { kind: "combine", fold: "max", terms: [x, y, open] },
      'max(node~="x",node~="y",open="yes")',
    ],
    ['avg(node~="x",[node~="y"])', { kind: "combine", fold: "avg", terms: [x, y] }, 'avg(node~="x",node~="y")'],
    ['gmean(node~="x",node~="y")', { kind: "combine", fold: "gmean", terms: [x, y] }, 'gmean(node~="x",node~="y")'],
    // Aggregate
    ['min(/B[node~="x"])', { kind: "aggregate", fold: "min", path }, 'min(/B[node~="x"])'],
    ['max(/B[node~="x"])', { kind: "aggregate", fold: "max", path }, 'max(/B[node~="x"])'],
    ['avg (/B[node~="x"])', { kind: "aggregate", fold: "avg", path }, 'avg(/B[node~="x"])'],
    ['gmean(/B[node~="x"])', { kind: "aggregate", fold: "gmean", path }, 'gmean(/B[node~="x"])'],
    [
      'max(//A[2][open="yes"]/B[node~="x"])',
      {
        kind: "aggregate",
        fold: "max",
        path: query(step({ position: { kind: "index", index: 2 }, predicates: [open] }), ...path.steps),
      },
      'max(//A[2][open="yes"]/B[node~="x"])',
    ],
  ])("%s", (text, relevance, canonical) => {
    expect(bracket(text)).toEqual({ relevance, canonical });
  });

  test("several brackets are several predicates", () => {
    expect(parse('//A[node~="x"][open="yes"]').ast).toEqual(query(step({ predicates: [x, open] })));
  });
});

describe("strings", () => {
  test.each([
    ['"a\\"b"', 'a"b', '"a\\"b"'],
    ["'a\\'b'", "a'b", `"a'b"`],
    ["'a\"b'", 'a"b', '"a\\"b"'],
    ['"\\\\"', "\\", '"\\\\"'],
    ['"\\n\\t"', "\n\t", '"\\n\\t"'],
    ['"\n\t"', "\n\t", '"\\n\\t"'],
    ['"\\u00e9\\u00E9"', "éé", '"éé"'],
    ['"\\ud83d\\ude42"', "🙂", '"🙂"'],
    ['"\\u0000\\u001f"', "\u0000\u001f", '"\\u0000\\u001f"'],
    ['"שלום 你好"', "שלום 你好", '"שלום 你好"'],
    ['""', "", '""'],
  ])("%s", (literal, text, canonical) => {
    expect(bracket(`node~=${literal}`)).toEqual({ relevance: local(text), canonical: `node~=${canonical}` });
  });
});

describe("the result", () => {
  test("is frozen all the way down", () => {
    const { ast } = parse('//A[2][avg(/B[node~="x"])*cost<3]');
    const inspect = (value: unknown): void => {
      if (typeof value !== "object" || value === null) return;
      expect(Object.isFrozen(value)).toBe(true);
      Object.values(value).forEach(inspect);
    };
    inspect(ast);
  });

  test("knows where names stand in the text", () => {
    const parsed = parse('/A//Bee[ name~="x"]');
    const bee = parsed.ast.steps[1]!;
    expect(parsed.offsetOf(bee)).toBe(4);
    expect(parsed.offsetOf(bee.predicates[0] as never)).toBe(9);
  });
});

describe("warnings", () => {
  test.each(['1-node~="x"*node~="y"', '1-1-node~="x"*node~="y"', 'node~="y"*1-node~="x"'])(
    "the bare complement in %s is read tighter than the product, with a warning",
    (text) => {
      const { warnings, canonical, ast } = parse(`//A[${text}]`);
      expect(warnings).toHaveLength(1);
      expect(warnings[0]?.code).toBe("complement_precedence");
      expect(warnings[0]?.message).toContain(canonical.slice("//A[".length, -1));
      expect(parse(canonical)).toMatchObject({ ast, warnings: [] });
    },
  );

  test.each(['(1-node~="x")*node~="y"', '1-(node~="x"*node~="y")', '1-node~="x"', '(1-node~="x"+node~="y")/2'])(
    "%s says what it means and needs none",
    (text) => {
      expect(parse(`//A[${text}]`).warnings).toEqual([]);
    },
  );

  test("the message says where", () => {
    expect(parse('//A\n[1-node~="x"*node~="y"]').warnings[0]?.message).toBe(
      'Line 2, column 13: "1-" binds tighter than "*", so this is read as (1-[node~="x"])*node~="y". Write the parentheses.',
    );
  });
});

const failure = (text: string): EspalierError => {
  try {
    parse(text);
  } catch (error) {
    if (error instanceof EspalierError) return error;
    throw error;
  }
  throw new Error(`${text} was accepted`);
};

describe("limits", () => {
  const nested = (depth: number): string => `//A[${"(".repeat(depth - 1)}node~="x"${")".repeat(depth - 1)}]`;
  test.each<[string, string, string, string, string]>([
    ["query_too_long", "8 KiB of query", `//A[node~="${"é".repeat(1000)}"]${" ".repeat(6179)}`, " ", "8192 bytes"],
    ["string_too_long", "2 KiB of string", `//A[node~="${"é".repeat(1024)}"]`, "é", "2048 bytes"],
    ["too_many_steps", "16 steps", "/A".repeat(16), "/A", "16 steps"],
    ["too_many_predicates", "8 predicates", `//A${'[node~="x"]'.repeat(8)}`, '[node~="x"]', "8 predicates"],
  ])("%s: %s are accepted, one more is not", (code, _, fits, more, said) => {
    expect(parse(fits).ast.kind).toBe("query");
    const over = code === "string_too_long" ? fits.replace('é"]', `é${more}"]`) : fits + more;
    const error = failure(over);
    expect(error.code).toBe(code);
    expect(error.message).toContain(said);
    expect(error.details).toMatchObject({ line: 1, column: expect.any(Number), caret: expect.stringContaining("^") });
  });

  test("query_too_deep: 16 levels are accepted, one more is not", () => {
    expect(parse(nested(16)).ast.kind).toBe("query");
    expect(failure(nested(17)).code).toBe("query_too_deep");
  });

  test.each([
    ["complements", `//A[${"1-".repeat(16)}node~="x"]`],
    ["folds", `//A[${"avg(/A[".repeat(8)}node~="x"${"])".repeat(8)}]`],
    ["products", `//A[${"(".repeat(16)}node~="x"${'*node~="y")'.repeat(16)}]`],
  ])("query_too_deep counts %s", (_, text) => {
    expect(failure(text).code).toBe("query_too_deep");
  });

  test("an accepted query has an accepted canonical text, although the printer adds parentheses", () => {
    const deep = `//A[${'(1-node~="y"*'.repeat(7)}node~="x"${")".repeat(7)}]`;
    expect(parse(parse(deep).canonical).ast).toEqual(parse(deep).ast);
    expect(failure(`//A[${'(1-node~="y"*'.repeat(15)}node~="x"${")".repeat(15)}]`).code).toBe("query_too_deep");
  });

  test("aggregates are counted in the whole query", () => {
    const fold = (count: number): string => `max(${Array.from({ length: count }, () => "avg(/B)").join(",")})`;
    expect(parse(`//A[${fold(64)}]//A[${fold(64)}]`).ast.steps).toHaveLength(2);
    expect(failure(`//A[${fold(64)}]//A[${fold(65)}]`).code).toBe("too_many_aggregates");
  });

  test("steps are counted per path", () => {
    expect(parse(`${"/A".repeat(16)}[max(${"/A".repeat(16)})]`).ast.steps).toHaveLength(16);
    expect(failure(`//A[max(${"/A".repeat(17)})]`).code).toBe("too_many_steps");
  });
});
