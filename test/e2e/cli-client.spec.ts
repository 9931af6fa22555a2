import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { runEspalier, startEspalier, type CommandEnd, type RunningEspalier } from "../support/espalier.js";

/** `import`, `query` and `doctor` against one real `up`, which they find by its data folder. */
const ROOT = resolve(import.meta.dirname, "../..");
const SLOW_MS = 120_000;

let place = "";
let running: RunningEspalier;

const run = (...args: readonly string[]): Promise<CommandEnd> => runEspalier([...args, "--data", join(place, "data")]);

const json = async <T>(...args: readonly string[]): Promise<T> => {
  const end = await run(...args, "--json");
  // The first command after a change of the sources builds, and says so.
  expect({ code: end.code, said: end.stderr.replaceAll(/^setup: .*\n/gmu, "") }).toEqual({ code: 0, said: "" });
  return JSON.parse(end.stdout) as T;
};

interface Imported {
  readonly memory: string;
  readonly created: boolean;
  readonly inserted: number;
  readonly revision: number;
  readonly jobs: readonly string[];
}

interface Queried {
  readonly rows: readonly { readonly path: string; readonly score: number; readonly evidence?: readonly unknown[] }[];
  readonly scoring: { readonly scorer: string };
  readonly trace?: unknown;
}

beforeAll(async () => {
  place = mkdtempSync(join(tmpdir(), "espalier-client-"));
  running = await startEspalier(join(place, "data"));
}, SLOW_MS);

afterAll(async () => {
  await running.end("SIGTERM");
  rmSync(place, { recursive: true, force: true });
}, SLOW_MS);

test(
  "a tree is imported into a memory that is created, and asked by its name",
  async () => {
    const file = join(ROOT, "examples", "acl-trip.json");
    const imported = await json<Imported>("import", "trip", file);
    expect(imported).toMatchObject({ created: true, revision: 1 });
    expect(imported.memory).toMatch(/^mem_/);
    expect(imported.inserted).toBeGreaterThan(20);
    const asked = await json<Queried>("query", "trip", '//Day[avg(/POI[node~="conference"])]', "--top-k", "3");
    expect(asked.rows).toHaveLength(3);
    expect(asked.rows[0]?.evidence?.length).toBeGreaterThan(0);
    const again = await json<Queried>("query", imported.memory, "//Day", "--scorer", "lexical", "--trace");
    expect(again.scoring.scorer).toBe("lexical");
    expect(again.trace).toBeDefined();
  },
  SLOW_MS,
);

test(
  "a query for people is a table with scores, paths and evidence, and a line that sums it up",
  async () => {
    writeFileSync(
      join(place, "list.json"),
      JSON.stringify({
        type: "List",
        attributes: { name: "errands" },
        children: [
          { type: "Item", attributes: { name: "buy apples and pears" } },
          { type: "Item", attributes: { name: "call the dentist" } },
        ],
      }),
    );
    const imported = await run("import", "errands", join(place, "list.json"));
    expect(imported.stdout).toMatch(/^created and imported errands \(mem_\w+\): 3 nodes, revision 1, .* nodes\/s\n$/);
    const { stdout } = await run("query", "errands", '//List[avg(/Item[node~="fruit"])]');
    expect(stdout).toMatch(/score +path +type +attributes/);
    expect(stdout).toMatch(/\d\.\d{3} +\/List\[1\] +List +name: errands/);
    expect(stdout).toMatch(/\/List\[1\]\/Item\[1\]/);
    expect(stdout).toMatch(/1 row, scorer hybrid, revision 1, \d+ tokens, [\d.]+ ms\n$/);
  },
  SLOW_MS,
);

test(
  "XML and a chat transcript become memories of their structure, and a second import appends",
  async () => {
    const xml = await json<Imported>("import", "plot", join(ROOT, "examples", "allotment.xml"));
    expect(xml.inserted).toBeGreaterThan(5);
    const chat = join(ROOT, "examples", "support-chat.jsonl");
    const first = await json<Imported>("import", "support", chat);
    const second = await json<Imported>("import", "support", chat);
    expect([first.created, second.created, second.memory]).toEqual([true, false, first.memory]);
    expect(second.revision).toBe(first.revision + 1);
    const turns = await json<Queried>("query", "support", '//Turn[node~="red light on the charger"]', "--top-k", "1");
    expect(turns.rows[0]?.path).toMatch(/^\/Conversation\[1\]\/Session\[\d+\]\/Turn\[\d+\]$/);
    const refused = await run("import", "plot", chat);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(/plot is artifact, a transcript needs a conversation memory/);
  },
  SLOW_MS,
);

test(
  "memories and their schemas are listed, for people and for programs",
  async () => {
    const listed = await json<{ readonly items: readonly { readonly id: string; readonly name: string }[] }>(
      "memories",
    );
    expect(listed.items.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["trip", "errands", "plot", "support"]),
    );
    expect((await run("memories")).stdout).toMatch(/mem_\w{26} +errands +artifact +3 +1 +\d{4}-/);
    expect((await run("memories", "--label", "user=nobody")).stdout).toBe("no memories\n");
    const { stdout } = await run("schema", "errands");
    expect(stdout).toMatch(/type +nodes +below +attributes +metadata/);
    expect(stdout).toMatch(/Item +2 +List +name \(string\)/);
    expect(stdout).toMatch(/List +1 +the root +name \(string\)/);
    const schema = await json<{ readonly types: readonly { readonly type: string }[] }>("schema", "errands");
    expect(schema.types.map(({ type }) => type).toSorted()).toEqual(["Item", "List"]);
  },
  SLOW_MS,
);

test(
  "a query shows what lies below its rows, and says why it has none",
  async () => {
    const whole = await run("query", "errands", "/List", "--subtree");
    expect(whole.stdout).toMatch(/\/List\[1\] +List +name: errands\n +Item +name: buy apples and pears\n/);
    const tight = await run("query", "errands", "//Item", "--max-tokens", "1");
    expect([tight.code, tight.stdout.startsWith("no rows\n")]).toEqual([0, true]);
    expect(tight.stderr).toMatch(/the first row alone has more than 1 tokens: raise --max-tokens/);
    await running.request("POST", "/v1/memories", { name: "new" });
    expect((await run("query", "new", "//Item")).stderr).toMatch(/warning: This memory is empty/);
  },
  SLOW_MS,
);

test("with --json a failure is the problem on stdout, beside the sentence on stderr", async () => {
  const refused = await run("query", "errands", "//Itm", "--json");
  expect(refused.code).toBe(1);
  expect(JSON.parse(refused.stdout)).toMatchObject({ code: "unknown_type", status: 422, near: ["Item"] });
  expect(refused.stderr).toMatch(/\(unknown_type\)[^]*bin\/espalier schema MEMORY lists the types/);
  const local = await run("query", "nowhere", "//Day", "--json");
  expect([local.code, JSON.parse(local.stdout)]).toEqual([
    1,
    { type: "about:blank", title: "The command failed", detail: expect.stringMatching(/^There is no memory nowhere/) },
  ]);
});

test("what is wrong is said in a sentence on stderr, with the place in a query", async () => {
  copyFileSync(join(ROOT, "package.json"), join(place, "unknown.txt"));
  writeFileSync(join(place, "open.xml"), "<Trip>");
  writeFileSync(join(place, "odd.json"), '{"type": "two words"}');
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [["query", "nowhere", "//Day"], /There is no memory nowhere/],
    [["query", "mem_01h455vb4pex5vsknk084sn02q", "//Day"], /memory_not_found/],
    [["query", "errands", "//Item["], /\(syntax_error\)[^]*\^/],
    [["import", "x", join(place, "missing.json")], /cannot be read/],
    [["import", "x", join(place, "unknown.txt")], /has no known ending/],
    [["import", "x", join(place, "open.xml")], /open\.xml: xml, line 1/],
    [["import", "x", join(place, "odd.json")], /odd\.json: tree\[0\]\.type.*\(invalid_name\)/],
    [["import", "mem_123", join(place, "odd.json")], /mem_123 begins like the id of a memory and is none/],
    [["query", "errands", "//Item", "--key", "esp_wrong"], /unauthorized/],
    [["query", "errands", "//Item", "--url", "http://127.0.0.1:9"], /Nothing answers at http:\/\/127\.0\.0\.1:9/],
  ];
  for (const [args, message] of cases) {
    const end = await run(...args);
    expect({ args, code: end.code, stdout: end.stdout }).toEqual({ args, code: 1, stdout: "" });
    expect(end.stderr).toMatch(message);
  }
});

test("doctor finds a healthy installation healthy, and says what is wrong with another", async () => {
  interface Report {
    readonly ok: boolean;
    readonly checks: readonly { readonly check: string; readonly state: string; readonly detail: string }[];
  }
  const healthy = await json<Report>("doctor");
  expect(healthy.ok).toBe(true);
  expect(healthy.checks.map(({ check, state }) => [check, state])).toEqual(
    [
      "node",
      "configuration",
      "entailment model",
      "redis program",
      "models",
      "data folder",
      "database",
      "vectors",
      "admin key",
      "redis",
    ]
      .concat(["api", "key"])
      .map((check) => [check, check === "entailment model" ? "skipped" : "ok"]),
  );
  const end = await runEspalier(["doctor", "--json", "--data", join(place, "empty")]);
  const empty = JSON.parse(end.stdout) as Report;
  expect(end.code).toBe(1);
  expect(empty.checks.find(({ check }) => check === "api")).toMatchObject({ state: "failed" });
  expect(empty.checks.find(({ check }) => check === "database")).toMatchObject({ state: "skipped" });
});
