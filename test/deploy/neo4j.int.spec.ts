import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeWithNeo4j } from "../support/neo4j.js";
import { composeFile, ROOT, textOf } from "./compose-file.js";

/** Neo4j's own check of a configuration, of the version that the compose file runs. */
await describeWithNeo4j("the configuration of Neo4j", () => {
  const version = /^neo4j:([\d.]+)-/.exec(composeFile.services["neo4j"]?.image ?? "")?.[1];
  const jars = join(ROOT, `.cache/neo4j/lib-${version}`, "*");
  let home = "";

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "espalier-neo4j-"));
    mkdirSync(join(home, "conf"));
  });
  afterEach(() => {
    rmSync(home, { recursive: true });
  });

  const validate = (text: string): { readonly code: number | null; readonly said: string } => {
    writeFileSync(join(home, "conf", "neo4j.conf"), text);
    const program = ["org.neo4j.server.startup.Neo4jAdminCommand", "server", "validate-config"];
    const { status, stdout, stderr } = spawnSync("java", [`-Dapp.home=${home}`, "-cp", jars, ...program], {
      env: { ...process.env, NEO4J_HOME: home, NEO4J_CONF: join(home, "conf") },
      encoding: "utf8",
    });
    return { code: status, said: stdout + stderr };
  };

  test("every setting is one that this version knows, with a value that it takes", () => {
    expect(validate(textOf("deploy/neo4j/neo4j.conf"))).toMatchObject({ code: 0 });
  });

  test("a setting with a wrong name is found", () => {
    const wrong = textOf("deploy/neo4j/neo4j.conf").replace("memory.pagecache", "memory.pagecash");
    expect(validate(wrong)).toEqual({ code: expect.any(Number), said: expect.stringContaining("pagecash") });
  });
});
