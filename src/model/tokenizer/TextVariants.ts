/**
 * The texts of a chat in two variants: one whose replies may think and one whose replies answer at once.
 * Invariant: both have the same turns; they differ in thoughts alone, or the template is refused (ChatTemplate.ts).
 */
import { Effect, Result } from "effect";
import { type ChatStyle, type ChatTexts, markersOf, styles, withoutThought } from "./ChatTexts.ts";
import { deriveTexts } from "./deriveTexts.ts";
import type { JinjaTemplate } from "./JinjaTemplate.ts";
import type { Tokenizer } from "./Tokenizer.ts";

export const thoughtTag = "<think>";
export const openThought = /<think>\s*$/;

export interface TextVariants {
  readonly thinking: ChatTexts;
  readonly plain: ChatTexts;
}

/** True if replies think by default. */
export const hasThoughts = ({ plain, thinking }: TextVariants): boolean =>
  thinking.prompt !== plain.prompt || openThought.test(thinking.prompt);

export const textsFor = ({ plain, thinking }: TextVariants, replyPrefix: string): ChatTexts =>
  replyPrefix.startsWith(thoughtTag) ? thinking : plain;

/** The prompt with the beginning of the reply. A thought that the template opens is not opened twice, or is closed empty, as Qwen3 does. */
export const promptOf = (prompt: string, replyPrefix: string): string => {
  if (!replyPrefix.startsWith(thoughtTag)) return prompt.replace(openThought, "<think>\n\n</think>\n\n") + replyPrefix;
  return openThought.test(prompt) ? prompt + replyPrefix.slice(thoughtTag.length) : prompt + replyPrefix;
};

/** The texts of a style, where the tokenizer has its markers. */
export const styleTexts = (tokenizer: Tokenizer, style: ChatStyle): Result.Result<TextVariants, string> => {
  const missing = markersOf[style].filter((marker) => !tokenizer.specials.has(marker));
  if (missing.length === 0) return Result.succeed({ thinking: styles[style], plain: styles[style] });
  const names = missing.join(", ");
  return Result.fail(`the chat style "${style}" needs the special tokens ${names}, which this tokenizer does not have`);
};

/** The variants of a folder's template. `tokens` are those that its tokenizer has added to its vocabulary. */
export const deriveVariants = (
  template: JinjaTemplate,
  tokens: readonly string[],
): Effect.Effect<TextVariants, string> =>
  Effect.all({ thinking: deriveTexts(template, tokens, true), plain: deriveTexts(template, tokens, false) });

/** The tokens that stand in `text`. */
export const tokensIn = (text: string, tokens: Iterable<string>): readonly string[] =>
  [...tokens].filter((token) => token.trim() !== "" && text.includes(token));

/** The tokens that make up the turns: no untrusted text may spell them, special or not. Those of thoughts are not among them. */
export const structureTokens = ({ plain, thinking }: TextVariants, tokens: Iterable<string>): readonly string[] => {
  const text = [thinking, plain]
    .flatMap(({ beforeFirstUser, between, earlierPrompt, end, system }) => [
      beforeFirstUser,
      ...(system ?? []),
      withoutThought(earlierPrompt),
      end,
      between,
    ])
    .join("");
  return tokensIn(text, tokens);
};
