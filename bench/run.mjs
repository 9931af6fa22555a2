// `npm run bench -- NAME [--json FILE]`: runs the built benchmarks, building first when there is no build.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const main = new URL("../dist/bench/main.js", import.meta.url);

if (!existsSync(main)) {
  const build = spawnSync("npm", ["run", "build"], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  if (build.status !== 0 || !existsSync(main)) {
    process.stderr.write("The build failed: run bin/setup first, then `npm run build` shows why.\n");
    process.exit(1);
  }
}
process.chdir(root);
await import(main.href);
