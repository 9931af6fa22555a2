import { expect, test } from "@jest/globals";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { describeWithTool, promtool } from "../support/deploy-tools.js";
import { ROOT, textOf } from "./compose-file.js";

const folder = join(ROOT, "deploy/prometheus");

await describeWithTool("promtool on the configuration of Prometheus", promtool, (run) => {
  test("configuration and rules are valid", () => {
    const { code, said } = run(["check", "config", join(folder, "prometheus.yml")]);
    expect({ code, said }).toMatchObject({ code: 0, said: expect.stringContaining("rules found") });
  });

  test("each alert fires when it should and keeps still when it should", () => {
    expect(run(["test", "rules", join(folder, "rules.test.yml")])).toMatchObject({ code: 0 });
  });

  test("a threshold that is moved is noticed", () => {
    const scratch = mkdtempSync(join(tmpdir(), "espalier-rules-"));
    try {
      cpSync(folder, scratch, { recursive: true });
      writeFileSync(join(scratch, "rules.yml"), textOf("deploy/prometheus/rules.yml").replace("> 2.5", "> 25"));
      expect(run(["test", "rules", join(scratch, "rules.test.yml")]).code).not.toBe(0);
    } finally {
      rmSync(scratch, { recursive: true });
    }
  });
});

interface Rule {
  readonly alert: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string };
}

test("every alert says how urgent it is, and has a row for whoever it wakes", () => {
  const { groups } = parse(textOf("deploy/prometheus/rules.yml")) as { groups: { rules: Rule[] }[] };
  const rules = groups.flatMap((group) => group.rules);
  const page = textOf("docs/operations/distributed.md");
  expect(rules.length).toBeGreaterThan(0);
  for (const { alert, labels, annotations } of rules) {
    expect(["page", "ticket"]).toContain(labels.severity);
    expect(annotations.summary).not.toBe("");
    expect(page).toContain(`\`${alert}\``);
  }
});
