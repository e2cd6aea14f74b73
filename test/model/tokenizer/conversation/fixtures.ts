/** Tokenizers of the fixtures' folders, and what the tests of conversations read off them. */
import { join } from "node:path";
import { Effect } from "effect";
import * as fc from "fast-check";
import * as Tokenizer from "../../../../src/model/tokenizer/Tokenizer.ts";

export const loadTokenizer = (family: string) =>
  Tokenizer.load(join(import.meta.dirname, "../../../fixtures/chat-templates", family));

/** The added tokens in `ids`, as texts. */
export const tokensOf = ({ added }: Tokenizer.Tokenizer, ids: Int32Array): readonly string[] => {
  const names = new Map([...added].map(([token, id]) => [id, token]));
  return [...ids].flatMap((id) => names.get(id) ?? []);
};

/** Texts that spell `tokens`, whole, in parts and across others. */
export const hostileTexts = (tokens: readonly string[]): fc.Arbitrary<string> => {
  const parts = tokens.flatMap((token) => [token, token.slice(0, 3), token.slice(3)]);
  return fc
    .array(fc.constantFrom(...parts, "<", "|>", "\n", " ", "x", "é", '"', "\u2028"), { maxLength: 8 })
    .map((chosen) => chosen.join(""));
};

export const run = <A>(effect: Effect.Effect<A, string>): A => Effect.runSync(effect);
