/**
 * Text to ids and back, by the tokenizer of a checkpoint folder. It never adds special tokens: the chat template spells those of a
 * prompt. Invariant: `decode(ids)` is the UTF-8 reading of the bytes of `ids` end to end.
 */
import { Tokenizer as Library } from "@huggingface/tokenizers";
import { Effect } from "effect";
import { CheckpointError, checkpointError } from "../checkpoint/CheckpointError.ts";
import { isJsonObject, type JsonObject, read, type TokenizerFiles } from "../checkpoint/TokenizerFiles.ts";
import * as ByteDecoder from "./ByteDecoder.ts";
import { type ChatStyle, chatStyles, type TextPart } from "./ChatTexts.ts";
import {
  byteLevelPattern,
  defaultLimits,
  guardPatterns,
  type PatternGuard,
  type PatternLimits,
} from "./ForeignPatterns.ts";
import { contentOf } from "./JinjaTemplate.ts";

export interface Tokenizer {
  /** Ids of `text`; a special token spelled in it becomes that token. Throws a `CheckpointError` where a strange expression takes too long. */
  readonly encode: (text: string) => Int32Array;
  /**
   * Returns the ids of a text of trusted and untrusted parts. In an untrusted part special tokens and `guarded` tokens, which need not
   * be special, stay plain text.
   */
  readonly encodeParts: (parts: readonly TextPart[], guarded?: readonly string[]) => Int32Array;
  /** Text of `ids`, special tokens included; bytes that are no UTF-8 become U+FFFD. */
  readonly decode: (ids: Iterable<number>) => string;
  readonly bytesOf: ByteDecoder.BytesOf;
  readonly tokenId: (token: string) => number | undefined;
  /** The end token tokenizer_config.json names, if it does. A reply of a chat ends with the chat template's, which may be another. */
  readonly eosId: number | undefined;
  readonly specials: ReadonlyMap<string, number>;
  /** The special tokens, and others that were added to the vocabulary: a text that spells one becomes that one id. */
  readonly added: ReadonlyMap<string, number>;
  /** One more than the largest id. A model's embedding may have more rows. */
  readonly vocabSize: number;
  /** Style of turns, if tokenizer_config.json names one of ours. */
  readonly chatStyle: ChatStyle | undefined;
  /** Names the files in errors. */
  readonly path: string;
  /** The files it was made of, to be written into the run's checkpoints. */
  readonly files: TokenizerFiles;
}

const decoderTypes = (decoder: unknown): readonly unknown[] => {
  if (!isJsonObject(decoder)) return [];
  return Array.isArray(decoder.decoders) ? decoder.decoders.flatMap(decoderTypes) : [decoder.type];
};

const spellingOf = (tokenizerJson: JsonObject): ByteDecoder.ByteSpelling | undefined => {
  const types = decoderTypes(tokenizerJson.decoder);
  if (types.includes("ByteLevel")) return "byte_level";
  return types.includes("ByteFallback") ? "byte_fallback" : undefined;
};

const chatStyleOf = (config: JsonObject, path: string): Effect.Effect<ChatStyle | undefined, CheckpointError> => {
  const named = config.millrace_chat_style;
  const style = chatStyles.find((candidate) => candidate === named);
  if (style !== undefined || named === undefined) return Effect.succeed(style);
  const detail = `millrace_chat_style is ${JSON.stringify(named)}; choices are ${chatStyles.join(", ")}`;
  return Effect.fail(checkpointError(path, "bad_config", detail));
};

/** Positions at which to cut `text` so that no special token that starts between `from` and `to` stays whole. */
const cutsInside = (text: string, from: number, to: number, specials: readonly string[]): readonly number[] => {
  const cuts = new Set<number>();
  for (const special of specials) {
    // A token may end behind the part that it starts in; nothing beyond is searched, since parts may be many and short.
    const window = text.slice(from, to + special.length - 1);
    for (let at = window.indexOf(special); at >= 0; at = window.indexOf(special, at + 1)) cuts.add(from + at + 1);
  }
  return [...cuts].sort((a, b) => a - b);
};

export interface TokenizerOptions {
  /** Names the files in errors. */
  readonly path?: string;
  /** Rows of the model's embedding: a tokenizer with ids beyond them is refused. */
  readonly embeddingRows?: number;
  /** Limits for regular expressions of the file that are of no known family. */
  readonly limits?: PatternLimits;
}

/** True if the tokenizer's model has tokens of its own. */
const hasVocabulary = ({ model }: JsonObject): boolean => {
  const vocabulary = isJsonObject(model) ? model.vocab : undefined;
  if (Array.isArray(vocabulary)) return vocabulary.length > 0;
  for (const _ in isJsonObject(vocabulary) ? vocabulary : {}) return true;
  return false;
};

const splitBy = (regex: string) => ({ type: "Split", pattern: { Regex: regex }, behavior: "Isolated", invert: false });

/**
 * Pre-tokenizers whose patterns the library has as JavaScript's, as equal ones of `Split`, whose patterns it reads as Python's library does:
 * `Digits` is for every numeric character, not for ASCII alone, and white space is U+0085 but not U+FEFF.
 */
const pythonPreTokenizer = (preTokenizer: unknown): unknown => {
  if (!isJsonObject(preTokenizer)) return preTokenizer;
  const { add_prefix_space: prefixed, individual_digits: individual, pretokenizers, type } = preTokenizer;
  if (type === "Sequence" && Array.isArray(pretokenizers)) {
    return { ...preTokenizer, pretokenizers: pretokenizers.map(pythonPreTokenizer) };
  }
  if (type === "Digits") return splitBy(individual === true ? "\\p{N}" : "\\p{N}+");
  if (type !== "ByteLevel" || preTokenizer.use_regex === false || prefixed === true) return preTokenizer;
  return { type: "Sequence", pretokenizers: [splitBy(byteLevelPattern), { ...preTokenizer, use_regex: false }] };
};

interface LibraryTokenizer {
  readonly library: Library;
  readonly run: PatternGuard["run"];
  readonly spelling: ByteDecoder.ByteSpelling;
}

/** The library's tokenizer, where it can read the file within its limits and this program can tell the bytes of its ids. */
const openLibrary = Effect.fnUntraced(function* (
  { tokenizerConfig, tokenizerJson }: TokenizerFiles,
  path: string,
  limits: PatternLimits,
): Effect.fn.Return<LibraryTokenizer, CheckpointError> {
  const spelling = spellingOf(tokenizerJson);
  if (spelling === undefined) {
    const decoders = JSON.stringify(decoderTypes(tokenizerJson.decoder));
    const detail = `its decoder is ${decoders}; byte-level BPE and byte fallback are supported`;
    return yield* checkpointError(path, "unsupported", detail);
  }
  if (!hasVocabulary(tokenizerJson)) return yield* checkpointError(path, "bad_config", "its vocabulary is empty");
  return yield* Effect.try({
    try: () => {
      const { probes, run } = guardPatterns(tokenizerJson, limits, (detail) =>
        checkpointError(path, "bad_config", detail),
      );
      // The library takes absent parts only when they are spelled as null.
      const pre_tokenizer = pythonPreTokenizer(tokenizerJson.pre_tokenizer ?? null);
      const parts = { normalizer: null, post_processor: null, ...tokenizerJson, pre_tokenizer };
      const library = run(() => new Library(parts, tokenizerConfig));
      for (const text of probes) run(() => library.encode(text));
      return { library, run, spelling };
    },
    catch: (cause) => {
      if (cause instanceof CheckpointError) return cause;
      return checkpointError(path, "bad_config", cause instanceof Error ? cause.message : String(cause));
    },
  });
});

/** The end token's id. Fails where tokenizer_config.json names one that the vocabulary lacks. */
const eosIdOf = (
  library: Library,
  config: JsonObject,
  path: string,
): Effect.Effect<number | undefined, CheckpointError> => {
  const token = contentOf(config.eos_token);
  const id = token === undefined ? undefined : library.token_to_id(token);
  if (token === undefined || id !== undefined) return Effect.succeed(id);
  const detail = `tokenizer_config.json names an unknown eos_token (${token})`;
  return Effect.fail(checkpointError(path, "bad_config", detail));
};

/** One more than the largest id. Fails where that is beyond the model's embedding. */
const vocabSizeOf = (library: Library, embeddingRows: number, path: string): Effect.Effect<number, CheckpointError> => {
  let size = 0;
  for (const id of library.get_vocab().values()) size = Math.max(size, id + 1);
  const detail = `the tokenizer has ids up to ${size - 1}, the model's embedding only ${embeddingRows} rows (vocab_size)`;
  return size > embeddingRows ? Effect.fail(checkpointError(path, "bad_config", detail)) : Effect.succeed(size);
};

/** Encodes parts as one text, cut inside every special token that an untrusted part spells. */
const partsEncoder =
  (idsOf: (text: string) => readonly number[], specials: readonly string[]) =>
  (parts: readonly TextPart[], guarded: readonly string[] = []): Int32Array => {
    const plain = guarded.length === 0 ? specials : [...specials, ...guarded];
    const text = parts.map((part) => part.text).join("");
    const pieces: (readonly number[])[] = [];
    let partStart = 0;
    let pieceStart = 0;
    for (const part of parts) {
      const partEnd = partStart + part.text.length;
      for (const cut of part.untrusted ? cutsInside(text, partStart, partEnd, plain) : []) {
        pieces.push(idsOf(text.slice(pieceStart, cut)));
        pieceStart = cut;
      }
      partStart = partEnd;
    }
    pieces.push(idsOf(text.slice(pieceStart)));
    return Int32Array.from(pieces.flat());
  };

/** A tokenizer from its two files. Fails with `CheckpointError`. */
export const make = Effect.fnUntraced(function* (
  files: TokenizerFiles,
  { path = "tokenizer.json", embeddingRows = Number.POSITIVE_INFINITY, limits = defaultLimits }: TokenizerOptions = {},
): Effect.fn.Return<Tokenizer, CheckpointError> {
  const { tokenizerConfig } = files;
  const { library, run, spelling } = yield* openLibrary(files, path, limits);
  const vocabSize = yield* vocabSizeOf(library, embeddingRows, path);
  const eosId = yield* eosIdOf(library, tokenizerConfig, path);
  const chatStyle = yield* chatStyleOf(tokenizerConfig, path);
  const tokens = library.get_added_tokens_decoder();
  const idsByText = (subset: typeof tokens) => new Map([...subset].map(([id, token]) => [token.content, id]));
  const specials = idsByText(new Map([...tokens].filter(([, token]) => token.special)));
  const idsOf = (text: string): readonly number[] =>
    text === "" ? [] : run(() => library.encode(text, { add_special_tokens: false }).ids);
  return {
    encode: (text) => Int32Array.from(idsOf(text)),
    encodeParts: partsEncoder(idsOf, [...specials.keys()]),
    decode: (ids) => {
      const knownIds = Array.from(ids).filter((id) => library.id_to_token(id) !== undefined);
      if (knownIds.length === 0) return "";
      return run(() => library.decode(knownIds, { skip_special_tokens: false, clean_up_tokenization_spaces: false }));
    },
    bytesOf: ByteDecoder.make({
      spelling,
      size: vocabSize,
      tokenOf: (id) => library.id_to_token(id),
      isAdded: (id) => tokens.has(id),
    }),
    tokenId: (token) => library.token_to_id(token),
    eosId,
    specials,
    added: idsByText(tokens),
    vocabSize,
    chatStyle,
    path,
    files,
  };
});

/** The tokenizer of a checkpoint folder. Fails with `CheckpointError`. */
export const load = (folder: string, options: TokenizerOptions = {}): Effect.Effect<Tokenizer, CheckpointError> =>
  Effect.flatMap(read(folder), (files) => make(files, { path: folder, ...options }));
