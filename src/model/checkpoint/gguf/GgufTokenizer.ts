/**
 * The tokenizer that a GGUF file's metadata describes, as tokenizer.json and tokenizer_config.json. Supported is byte-level BPE with the ways of
 * cutting a text that `preTokenizers` lists. Invariant: every id is a row of the embedding, in the file's order.
 */
import { checkpointError } from "../CheckpointError.ts";
import type { JsonObject, TokenizerFiles } from "../TokenizerFiles.ts";
import type { GgufFile } from "./GgufFile.ts";

/** The type by which GGUF marks a special token. */
const control = 3;

const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true };
const digits = { type: "Digits", individual_digits: true };

/** By GGUF's name, how a text is cut before its pieces are merged. */
const preTokenizers: Readonly<Record<string, JsonObject>> = {
  smollm: { type: "Sequence", pretokenizers: [digits, byteLevel] },
  "gpt-2": byteLevel,
};

const choices = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(", ");

const addedTokens = (file: GgufFile, tokens: readonly string[]): readonly JsonObject[] => {
  const types = file.numbers("tokenizer.ggml.token_type");
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };
  return tokens.flatMap((content, id) => (types[id] === control ? [{ id, content, ...flags }] : []));
};

const tokenizerJson = (file: GgufFile, pre: JsonObject): JsonObject => {
  const tokens = file.texts("tokenizer.ggml.tokens");
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: addedTokens(file, tokens),
    normalizer: null,
    pre_tokenizer: pre,
    post_processor: null,
    decoder: { ...byteLevel, add_prefix_space: true },
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges: file.texts("tokenizer.ggml.merges").map((merge) => merge.split(" ")),
    },
  };
};

const tokenizerConfig = (file: GgufFile, maxPositions: number): JsonObject => {
  const tokens = file.texts("tokenizer.ggml.tokens");
  const token = (name: string, key: string): JsonObject =>
    file.has(key) ? { [name]: tokens[file.number(key)] ?? null } : {};
  const template = "tokenizer.chat_template";
  return {
    add_prefix_space: false,
    ...token("bos_token", "tokenizer.ggml.bos_token_id"),
    ...token("eos_token", "tokenizer.ggml.eos_token_id"),
    ...token("pad_token", "tokenizer.ggml.padding_token_id"),
    ...token("unk_token", "tokenizer.ggml.unknown_token_id"),
    clean_up_tokenization_spaces: false,
    model_max_length: maxPositions,
    tokenizer_class: "PreTrainedTokenizerFast",
    ...(file.has(template) ? { chat_template: file.text(template) } : {}),
  };
};

/** Throws CheckpointError naming the key and what is supported. */
export const tokenizerOf = (path: string, file: GgufFile, maxPositions: number): TokenizerFiles => {
  const model = file.text("tokenizer.ggml.model");
  if (model !== "gpt2")
    throw checkpointError(path, "unsupported", `tokenizer.ggml.model is "${model}"; supported is "gpt2"`);
  const name = file.text("tokenizer.ggml.pre");
  const pre = preTokenizers[name];
  if (pre === undefined) {
    const supported = `supported are ${choices(Object.keys(preTokenizers))}`;
    throw checkpointError(path, "unsupported", `tokenizer.ggml.pre is "${name}"; ${supported}`);
  }
  return { tokenizerJson: tokenizerJson(file, pre), tokenizerConfig: tokenizerConfig(file, maxPositions) };
};
