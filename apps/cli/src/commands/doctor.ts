import { colors } from "../colors.js";
import { connectionOf, type ConnectionOptions } from "../client/connection.js";
import { checkData } from "../doctor/check-data.js";
import { checkDrift } from "../doctor/check-drift.js";
import { checkMachine } from "../doctor/check-machine.js";
import { checkModelServers } from "../doctor/check-model-servers.js";
import { checkServer } from "../doctor/check-server.js";
import type { Finding } from "../doctor/finding.js";
import { dataFolder } from "../embedded/data-folder.js";
import { environmentWithPlaces, setting } from "../locations.js";
import { print, printJson } from "../output.js";

export interface DoctorOptions extends ConnectionOptions {
  readonly json?: true;
  readonly repair?: true;
}

const MARK = { ok: colors.green("ok  "), failed: colors.red("FAIL"), skipped: colors.dim("-   ") } as const;

/**
 * `espalier doctor`: checks in the order in which one depends on the other. Changes nothing, but with `--repair` has the
 * server bring its vectors in line with its trees.
 */
export async function doctor(options: DoctorOptions): Promise<void> {
  const environment = environmentWithPlaces({
    ...process.env,
    ...(options.data !== undefined && { ESPALIER_DATA: options.data }),
  });
  const folder = dataFolder(setting(environment, "ESPALIER_DATA") ?? ".espalier");
  const connection = connectionOf(options, environment);
  const server = await checkServer(connection);
  const { url, key } = connection;
  const mode = options.repair === true ? "repair" : "look";
  const answers = url !== undefined && server.every(({ state }) => state !== "failed");
  const findings: Finding[] = [
    ...(await checkMachine(environment)),
    ...(await checkModelServers(environment)),
    ...(await checkData(folder, environment)),
    ...server,
    ...(answers ? await checkDrift({ url, key, mode }) : []),
  ];
  const failed = findings.filter((finding) => finding.state === "failed").length;
  if (options.json === true) printJson({ ok: failed === 0, checks: findings });
  else {
    for (const { check, state, detail } of findings) print(`${MARK[state]} ${check}: ${detail}`);
    print(failed === 0 ? "all is well" : `${failed} of ${findings.length} checks failed`);
  }
  process.exit(failed === 0 ? 0 : 1);
}
