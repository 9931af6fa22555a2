/**
 * Runs one Neo4j for a test run and ends it with the run, however that ends: `node neo4j-watchdog.ts RUN HOME JAVA…` starts
 * the program after HOME, notes its process id in HOME/server.pid, and kills it and removes HOME when process RUN is gone.
 * It ends by itself when the server does. A process of its own, because a test run that is killed can do nothing any more.
 */
import { spawn } from "node:child_process";
import { openSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const LOOK_MS = 500;

const [run = "", home = "", program = "", ...args] = process.argv.slice(2);
const log = openSync(join(home, "server.log"), "a");
const server = spawn(program, args, { stdio: ["ignore", log, log] });
if (server.pid !== undefined) writeFileSync(join(home, "server.pid"), String(server.pid));

const looking = setInterval(() => {
  if (isAlive(Number(run))) return;
  clearInterval(looking);
  server.once("exit", () => {
    rmSync(home, { recursive: true, force: true });
  });
  server.kill("SIGKILL");
}, LOOK_MS);
server.once("exit", () => {
  clearInterval(looking);
});
server.once("error", () => {
  clearInterval(looking);
});
process.once("SIGTERM", () => server.kill("SIGKILL"));

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
