/** The chat template of a model's folder, running, with the texts that it writes around messages. */
import { Effect, type Scope } from "effect";
import { templatesOf } from "../checkpoint/TokenizerFiles.ts";
import * as JinjaTemplate from "./JinjaTemplate.ts";
import { deriveVariants, styleTexts, type TextVariants } from "./TextVariants.ts";
import type { Tokenizer } from "./Tokenizer.ts";

export interface FolderTemplate {
  /** Null where the folder has no template, and its chats are written as ChatML. */
  readonly template: JinjaTemplate.JinjaTemplate | null;
  readonly variants: TextVariants;
}

/** Puts the template's file before a reason. */
export const refuseTemplate = ({ files }: Tokenizer, reason: string): string =>
  `its chat template (${files.template?.name ?? "tokenizer_config.json"}) is not supported: ${reason}`;

/** Opens the template of `tokenizer`'s folder. Its process lives as long as the scope. Fails with why the template is not supported. */
export const open = Effect.fnUntraced(function* (
  tokenizer: Tokenizer,
  limits?: JinjaTemplate.Limits,
): Effect.fn.Return<FolderTemplate, string, Scope.Scope> {
  const sources = yield* Effect.fromResult(templatesOf(tokenizer.files));
  if (sources === undefined) {
    const variants = yield* Effect.mapError(
      Effect.fromResult(styleTexts(tokenizer, "chatml")),
      (reason) => `the folder has no chat template (chat_template), and ${reason}`,
    );
    return { template: null, variants };
  }
  return yield* Effect.gen(function* () {
    const template = yield* JinjaTemplate.make(sources.chat, tokenizer.files.tokenizerConfig, limits, sources.tools);
    return { template, variants: yield* deriveVariants(template, [...tokenizer.added.keys()]) };
  }).pipe(Effect.mapError((reason) => refuseTemplate(tokenizer, reason)));
});
