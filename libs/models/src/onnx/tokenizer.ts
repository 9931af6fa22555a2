import { EspalierError } from "#core";
import * as tokenizers from "@huggingface/tokenizers";
import { LRUCache } from "lru-cache";
import { readModelJson } from "./model-folder.js";

/** Texts whose tokens are kept at most, and bytes of both, about. */
const KNOWN_TEXTS = 1_024;
const KNOWN_BYTES = 4 * 1024 * 1024;

/** The part of the library's tokenizer that is used here: its own declarations do not resolve under `nodenext`. */
interface LibraryTokenizer {
  encode(
    text: string,
    options?: { add_special_tokens?: boolean; text_pair?: string; return_token_type_ids?: boolean },
  ): { readonly ids: readonly number[]; readonly token_type_ids?: readonly number[] };
}

const { Tokenizer } = tokenizers as unknown as {
  Tokenizer: new (definition: unknown, settings: unknown) => LibraryTokenizer;
};

/** Token ids of one model input. */
export interface Encoded {
  readonly ids: readonly number[];
  /** Segment of each token: 0, or 1 in the second text of a pair. */
  readonly types: readonly number[];
}

/** A folder's tokenizer, with what windows and pairs need of it. */
export class ModelTokenizer {
  readonly #tokenizer: LibraryTokenizer;
  /** Special tokens around a single text, and around and between a pair. */
  readonly #single: { readonly before: readonly number[]; readonly after: readonly number[] };
  readonly #specialsOfPair: number;
  /** Texts are counted before they are embedded, some hundred at a time. */
  readonly #known = new LRUCache<string, readonly number[]>({
    max: KNOWN_TEXTS,
    maxSize: KNOWN_BYTES,
    sizeCalculation: (ids, text) => 8 * ids.length + 2 * text.length + 1,
  });
  /** Id that fills a batch; masked, so any would do, but the model's own is in its vocabulary. */
  readonly padId: number;

  private constructor(tokenizer: LibraryTokenizer, padId: number) {
    this.#tokenizer = tokenizer;
    this.padId = padId;
    const probe = tokenizer.encode("a");
    const bare = tokenizer.encode("a", { add_special_tokens: false }).ids;
    const at = bare.length === 0 ? probe.ids.length : probe.ids.indexOf(bare[0] ?? -1);
    this.#single = { before: probe.ids.slice(0, at), after: probe.ids.slice(at + bare.length) };
    this.#specialsOfPair = tokenizer.encode("a", { text_pair: "a" }).ids.length - 2 * bare.length;
  }

  /** @throws `model_unusable` if the folder's tokenizer cannot be read. */
  static async open(folder: string): Promise<ModelTokenizer> {
    const definition = await readModelJson(folder, "tokenizer.json");
    const settings = (await readModelJson(folder, "tokenizer_config.json")) ?? {};
    try {
      const tokenizer = new Tokenizer(definition, settings);
      return new ModelTokenizer(tokenizer, padIdOf(definition));
    } catch (cause) {
      throw new EspalierError("model_unusable", `The tokenizer in ${folder} cannot be used.`, { cause });
    }
  }

  /** Tokens of a text with the special ones. */
  count(text: string): number {
    const { before, after } = this.#single;
    return before.length + this.#idsOf(text).length + after.length;
  }

  /** The text in consecutive windows of at most `maxTokens` tokens each, special ones included; at least one. */
  windows(text: string, maxTokens: number): readonly Encoded[] {
    const { before, after } = this.#single;
    const ids = this.#idsOf(text);
    const room = Math.max(1, maxTokens - before.length - after.length);
    const count = Math.max(1, Math.ceil(ids.length / room));
    return Array.from({ length: count }, (_, index) => {
      const window = [...before, ...ids.slice(index * room, (index + 1) * room), ...after];
      return { ids: window, types: window.map(() => 0) };
    });
  }

  /**
   * Premise and hypothesis as the model's pair; a premise that does not fit is cut at its end, the hypothesis never.
   * @throws `model_refused` if the hypothesis alone fills the window.
   */
  pair(premise: string, hypothesis: string, maxTokens: number): Encoded {
    const whole = this.#encodePair(premise, hypothesis);
    if (whole.ids.length <= maxTokens) return whole;
    const second = this.#tokenizer.encode(hypothesis, { add_special_tokens: false }).ids.length;
    const room = maxTokens - second - this.#specialsOfPair;
    if (room < 1) {
      throw new EspalierError(
        "model_refused",
        `The condition has ${second} tokens and leaves no room for a premise in the model's ${maxTokens}.`,
        { details: { tokens: second, maxTokens } },
      );
    }
    const excess = whole.ids.length - maxTokens;
    return withoutPremiseTail(whole, this.#premiseEnd(whole, premise), excess);
  }

  /** The tokens of a text without the special ones. */
  #idsOf(text: string): readonly number[] {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const { ids } = this.#tokenizer.encode(text, { add_special_tokens: false });
    this.#known.set(text, ids);
    return ids;
  }

  /** Index after the last token of the premise in an encoded pair. */
  #premiseEnd(pair: Encoded, premise: string): number {
    const length = this.#tokenizer.encode(premise, { add_special_tokens: false }).ids.length;
    return Math.min(pair.ids.length, this.#single.before.length + length);
  }

  #encodePair(premise: string, hypothesis: string): Encoded {
    const encoded = this.#tokenizer.encode(premise, { text_pair: hypothesis, return_token_type_ids: true });
    return { ids: encoded.ids, types: encoded.token_type_ids ?? [] };
  }
}

function withoutPremiseTail(pair: Encoded, premiseEnd: number, excess: number): Encoded {
  const keep = (_: number, index: number): boolean => index < premiseEnd - excess || index >= premiseEnd;
  return { ids: pair.ids.filter(keep), types: pair.types.filter(keep) };
}

function padIdOf(definition: unknown): number {
  const padding = (definition as { padding?: { pad_id?: unknown } | null } | undefined)?.padding;
  return typeof padding?.pad_id === "number" ? padding.pad_id : 0;
}
