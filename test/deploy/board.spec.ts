import { expect, test } from "@jest/globals";
import { parser } from "@prometheus-io/lezer-promql";
import { parse } from "yaml";
import { composeFile, textOf } from "./compose-file.js";
import { exportedSeries } from "./exported-metrics.js";

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly datasource?: { readonly uid: string };
  readonly fieldConfig?: { readonly defaults: { readonly unit: string } };
  readonly gridPos: { readonly x: number; readonly w: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const board = JSON.parse(textOf("deploy/grafana/boards/espalier.json")) as { readonly panels: readonly Panel[] };
const charts = board.panels.filter(({ type }) => type !== "row");
const onBoard = charts.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const));
const rules = parse(textOf("deploy/prometheus/rules.yml")) as {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
};
const inRules = rules.groups.flatMap((group) => group.rules.map(({ alert, expr }) => [alert, expr] as const));
const expressions = [...onBoard, ...inRules];

/** Labels that Prometheus puts on every series of ours, and those that our metrics have. */
const LABELS = [
  ...["job", "instance", "service", "le"],
  ...["process", "queue", "outcome", "state", "lane", "model", "kind", "cache", "store", "op", "limit"],
];

/** Names of series and labels of an expression, as Prometheus's own grammar reads it; `undefined` where it cannot. */
function namesIn(
  written: string,
): { readonly series: readonly string[]; readonly labels: readonly string[] } | undefined {
  const expr = written.replaceAll("$__rate_interval", "5m");
  const found = { series: new Set<string>(), labels: new Set<string>(), broken: false };
  parser.parse(expr).iterate({
    enter: ({ type, from, to, node }) => {
      const text = expr.slice(from, to);
      if (type.isError) found.broken = true;
      if (type.name === "Identifier" && node.parent?.name === "VectorSelector") found.series.add(text);
      if (type.name === "LabelName") found.labels.add(text);
    },
  });
  return found.broken ? undefined : { series: [...found.series], labels: [...found.labels] };
}

test("names are read from expressions, and what is no PromQL is noticed", () => {
  expect(namesIn('sum by (le, queue) (rate(a_bucket{store="x"}[$__rate_interval])) > b offset 5m')).toEqual({
    series: ["a_bucket", "b"],
    labels: ["le", "queue", "store"],
  });
  expect(namesIn("sum by (queue (rate(a[5m]))")).toBeUndefined();
});

test.each(expressions)("%s asks for series that /metrics exports: %s", async (_where, expr) => {
  const exported = await exportedSeries();
  const names = namesIn(expr);
  expect(names?.series.length).toBeGreaterThan(0);
  for (const name of names?.series ?? []) {
    // `up` is Prometheus's own.
    if (name !== "up") expect([...exported.keys()]).toContain(name);
  }
});

test.each(expressions)("%s groups by known labels and never by tenant: %s", (_where, expr) => {
  for (const label of namesIn(expr)?.labels ?? []) expect(LABELS).toContain(label);
});

test("what is exported and ours is on the board, with a text that says what it is", async () => {
  const exported = [...(await exportedSeries())].filter(([name]) => name.startsWith("espalier_"));
  const shown = onBoard.flatMap(([, expr]) => namesIn(expr)?.series ?? []).join("\n");
  for (const [name, { help }] of exported) {
    expect(help).not.toBe("");
    expect(shown).toContain(name.replace(/_(bucket|sum|count)$/, ""));
  }
});

test("the page for whoever runs it names every metric of ours, and none that is not exported", async () => {
  const families = [...(await exportedSeries()).keys()].map((name) => name.replace(/_(bucket|sum|count)$/, ""));
  const named = textOf("docs/operations/distributed.md").match(/(?<=`)espalier_\w+/g);
  const ours = families.filter((name) => name.startsWith("espalier_"));
  expect([...new Set(named)].sort()).toEqual([...new Set(ours)].sort());
});

test("every chart has a unit, a description and a data source that is provisioned", () => {
  const { datasources } = parse(textOf("deploy/grafana/provisioning/datasources.yml")) as {
    datasources: { uid: string; url: string }[];
  };
  const [source] = datasources;
  expect(composeFile.services).toHaveProperty(new URL(source!.url).hostname);
  expect(charts.length).toBeGreaterThan(0);
  for (const chart of charts) {
    expect(chart.fieldConfig?.defaults.unit).toMatch(/./);
    expect(chart.description).toMatch(/\.$/);
    expect(chart.datasource?.uid).toBe(source?.uid);
    expect(chart.gridPos.x + chart.gridPos.w).toBeLessThanOrEqual(24);
    for (const { legendFormat } of chart.targets ?? []) expect(legendFormat).not.toBe("");
  }
});

test("Grafana finds the board where the compose file puts it", () => {
  const { providers } = parse(textOf("deploy/grafana/provisioning/boards.yml")) as {
    providers: { options: { path: string } }[];
  };
  const { configs, environment } = composeFile.services["grafana"]!;
  const board = configs?.find(({ source }) => source === "grafana-board")?.target;
  expect(board).toBe(`${providers[0]?.options.path}/espalier.json`);
  expect(environment).toMatchObject({ GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH: board });
});
