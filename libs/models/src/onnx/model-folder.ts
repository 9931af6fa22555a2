import { EspalierError } from "#core";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";

/** Where the weights can lie: our own set-up's layout, then that of transformers.js. */
const WEIGHTS = ["model.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx"] as const;
/** Hexadecimal digits of the file hash in a model's id: enough to tell weights apart. */
const HASH_DIGITS = 12;

/** A folder with an ONNX model and its tokenizer. */
export interface ModelFolder {
  readonly path: string;
  readonly weights: string;
  /** Folder name and hash of the weights: what the model's outputs depend on. */
  readonly id: string;
}

/** Whether there is a folder with weights and a tokenizer. */
export async function isModelFolder(path: string): Promise<boolean> {
  return (await isFile(join(path, "tokenizer.json"))) && (await weightsOf(path)) !== undefined;
}

/**
 * Looks whether the files of a model are there. Reads none of them.
 * @returns the path of the weights
 * @throws `model_unusable` naming the folder and what is not in it.
 */
export async function checkModelFolder(path: string): Promise<string> {
  const weights = await weightsOf(path);
  if (weights === undefined) throw lacking(path, `a model (${WEIGHTS.join(" or ")})`);
  if (!(await isFile(join(path, "tokenizer.json")))) throw lacking(path, "tokenizer.json");
  return weights;
}

/**
 * Looks at a model's folder; reads its weights once to identify them.
 * @throws `model_unusable` naming the folder and what is not in it.
 */
export async function readModelFolder(path: string): Promise<ModelFolder> {
  const weights = await checkModelFolder(path);
  const hash = createHash("sha256");
  await pipeline(createReadStream(weights), hash, { end: false });
  // Weights of more than 2 GB lie in a second file, to which the first only points.
  if (await isFile(`${weights}_data`)) await pipeline(createReadStream(`${weights}_data`), hash, { end: false });
  return { path, weights, id: `${basename(path)}@${hash.digest("hex").slice(0, HASH_DIGITS)}` };
}

/** A JSON file of the folder; undefined if it is not there. @throws `model_unusable` if it is not JSON. */
export async function readModelJson(folder: string, name: string): Promise<unknown> {
  const path = join(folder, name);
  if (!(await isFile(path))) return undefined;
  try {
    return JSON.parse(await readFile(path, "utf8")) as unknown;
  } catch (cause) {
    throw new EspalierError("model_unusable", `${name} of the model in ${folder} is not JSON: fetch the model again.`, {
      cause,
    });
  }
}

async function weightsOf(folder: string): Promise<string | undefined> {
  for (const name of WEIGHTS) {
    const path = join(folder, name);
    if (await isFile(path)) return path;
  }
  return undefined;
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() ?? false;
}

const lacking = (folder: string, what: string): EspalierError =>
  new EspalierError(
    "model_unusable",
    `The model folder ${folder} lacks ${what}: put it there, or name another folder (ESPALIER_MODELS holds those of bin/setup).`,
    { details: { folder } },
  );
