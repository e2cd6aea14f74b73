/**
 * The nano model's tokenizer, as the two files that every checkpoint carries: a few hundred whole words over a base of 256 bytes.
 * Text is cut greedily into the longest words of the lists below; the rest is spelled in bytes, one token each.
 * Invariants: any text comes back exactly; a cell of a text grid is one token whatever stands beside it.
 *
 * It is written as a byte-level BPE without merges (`ignore_merges` takes a piece that is in the vocabulary whole), whose
 * pre-tokenizer is the list as one regular expression. Ids are given in the order of the lists: appending to the last one keeps all
 * others.
 */

import type { TokenizerFiles } from "../checkpoint/TokenizerFiles.ts";
import { characterOfByte } from "./ByteDecoder.ts";

const wordList = (text: string): readonly string[] => text.trim().split(/\s+/);

/** Special tokens, at the first ids: padding, the end of a reply, and the markers of the speakers. */
const specials = ["<pad>", "<|im_end|>", "<|system|>", "<|user|>", "<|assistant|>"];

/** Tags and separators of a reply, and the one grid symbol beyond ASCII (the others are bytes). */
const marks = ["<think>", "</think>", "<answer>", "</answer>", " || ", "√"];

/** Words with and without a space before them. */
const freeWords = wordList(`
  Up Down Left Right up down left right
  player box boxes target targets goal hole holes wall walls floor ice start
  push pull move go step turn stop wait slip fall avoid reach
  row col rows cols size above below next near far free blocked
  state reward actions action turns points answer think
  solve solved safe risky choose arm done yes no not
  then from to at on is in of the and or so if
`);

/** Words that follow another word. */
const followingWords = wordList(`
  a an it its my your you are be was by as this that them their there here with for into onto out over under before after
  can cannot will should must may might need have has do does make take give get see find use try want
  one two three first last more most less than best better other each both all any only same own new
  because but when while which what how between behind beside toward against
  puzzle game grid board map symbol symbols position direction moves adjacent opposite corner edge path way
  high low higher lower name names named total average reward's expected value likely risk chance
  slippery intended frozen lake bandit rewards rules sequence like until again please
`);

/** Words that open a line or a sentence. */
const openingWords = wordList(`
  Turn State Reward Coordinates Board Targets Boxes Player Grid Map Start Goal Holes You Your Always The I No Max Choose
`);

/** The arms of the bandit: those trained on, then those held out. */
const arms = wordList(`
  Teacher Trader Nurse StartupFounder Librarian Investor Accountant StockBroker Engineer RealEstateAgent Pharmacist Musician
  Clerk Freelancer Technician Youtuber Planner Artist Postman Pilot Banker VentureCapitalist Gardener Cryptominer
  Receptionist Explorer Archivist Filmmaker Bookkeeper Consultant SocialWorker Photographer Mechanic GameDesigner
  Secretary Entrepreneur Cashier DataScientist CivilServant StartupAccelerator
`);

/** Pieces that shorten words not listed. */
const fragments = wordList("ing ed er est ly tion ment able ous th an en re al ar or st ve ll ch sh qu");

/** Kinds of environment, as the compact template names them. */
const kinds = wordList("sokoban frozen_lake bandit");

const digits = wordList("0 1 2 3 4 5 6 7 8 9");

const withLeadingSpace = (words: readonly string[]): readonly string[] => words.map((word) => ` ${word}`);

/** Every entry of more than one byte that is no special token, in the order of their ids; a word may be listed twice. */
const words: readonly string[] = [
  ...marks,
  ...withLeadingSpace(digits),
  ...freeWords,
  ...withLeadingSpace(freeWords),
  ...withLeadingSpace(followingWords),
  ...openingWords,
  ...arms,
  ...fragments,
  ...kinds,
];

const spellInBytes = (text: string): string =>
  Array.from(new TextEncoder().encode(text), (byte) => characterOfByte[byte]).join("");

const escapeForRegex = (text: string): string => text.replace(/[|()[\]{}.*+?^$\\/]/g, "\\$&");

/** Longest first: alternatives of a regular expression are tried in their order. Equal lengths keep the order of the lists. */
const longestFirst = (entries: readonly string[]): readonly string[] =>
  [...entries].sort((a, b) => b.length - a.length);

/** Each message follows its speaker's marker; only replies have an end token. */
const chatTemplate =
  "{%- for message in messages -%}{{- '<|' + message['role'] + '|>' + message['content'] -}}" +
  "{%- if message['role'] == 'assistant' -%}{{- '<|im_end|>' -}}{%- endif -%}{%- endfor -%}" +
  "{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}";

/** The contents of tokenizer.json and tokenizer_config.json; equal at every call. */
export const nanoTokenizer = (): TokenizerFiles => {
  const tokens = [...new Set([...specials, ...characterOfByte, ...words.map(spellInBytes)])];
  return {
    tokenizerJson: {
      version: "1.0",
      truncation: null,
      padding: null,
      added_tokens: specials.map((content, id) => ({
        id,
        content,
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        special: true,
      })),
      normalizer: null,
      pre_tokenizer: {
        type: "Sequence",
        pretokenizers: [
          {
            type: "Split",
            pattern: { Regex: longestFirst(words).map(escapeForRegex).join("|") },
            behavior: "Isolated",
            invert: false,
          },
          { type: "ByteLevel", add_prefix_space: false, trim_offsets: false, use_regex: false },
        ],
      },
      post_processor: null,
      decoder: { type: "ByteLevel", add_prefix_space: false, trim_offsets: false, use_regex: false },
      model: {
        type: "BPE",
        dropout: null,
        unk_token: null,
        continuing_subword_prefix: null,
        end_of_word_suffix: null,
        fuse_unk: false,
        byte_fallback: false,
        ignore_merges: true,
        vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
        merges: [],
      },
    },
    tokenizerConfig: {
      tokenizer_class: "PreTrainedTokenizerFast",
      // Without this entry AutoTokenizer of transformers 5 puts Qwen2's own pre-tokenizer in place of the one in tokenizer.json,
      // because config.json says qwen2. No such module exists, and none is looked for unless remote code is asked for.
      auto_map: { AutoTokenizer: [null, "tokenizer_json.PreTrainedTokenizerFast"] },
      model_max_length: 1_000_000,
      pad_token: "<pad>",
      eos_token: "<|im_end|>",
      additional_special_tokens: specials.slice(2),
      clean_up_tokenization_spaces: false,
      chat_template: chatTemplate,
      millrace_chat_style: "compact",
    },
  };
};
