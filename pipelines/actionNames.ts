/**
 * Warns of action names that the embedded model was never trained to write. It has a word for each name that it knows; any other it would
 * have to spell, which a model of its size does not begin to do by chance.
 */
import { join, resolve } from "node:path";
import { Console, Effect, Option } from "effect";
import { playedTags } from "../src/config/levels.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { showText } from "../src/config/show.ts";
import { Environments } from "../src/env/contract/Environments.ts";
import type { Tokenizer } from "../src/model/tokenizer/Tokenizer.ts";
import { instanceKey } from "../src/rollout/keys.ts";
import { packageRoot } from "../src/support/files/packageRoot.ts";

const embedded = "config/models/nano";

/** True for the folder of the embedded model. */
export const isEmbedded = (folder: string): boolean => resolve(folder) === join(packageRoot, embedded);

/** A sentence on the actions of `tag` that the embedded model, whose tokenizer is given, has no word for; undefined where there are none. */
export const unknownNamesSentence = (
  tag: string,
  actions: readonly string[] | null,
  tokenizer: Pick<Tokenizer, "encode">,
): string | undefined => {
  const unknown = (actions ?? []).filter((name) => tokenizer.encode(` ${name}`).length > 1);
  if (unknown.length === 0) return undefined;
  const names = showText(unknown.join(", "), 100);
  const words = `"sft.sources=[{tag: ${tag}, mistakes: 0.5}]" sft.init=${embedded} sft.steps=150 sft.output=runs/cloned`;
  return `${tag}: the embedded model was not trained to write ${names}; show it episodes first: millrace sft with the same run file and ${words}, then train with model.path=runs/cloned`;
};

/** Prints that sentence for each preset that training plays. A preset whose reset fails is left to those who report it. */
export const tellUnknownNames = Effect.fnUntraced(function* (config: RunConfig, tokenizer: Pick<Tokenizer, "encode">) {
  if (!isEmbedded(config.model.path)) return;
  const environments = yield* Environments;
  for (const tag of playedTags(config, "train")) {
    const request = { tag, instance: instanceKey(config.es_manager.train.seed), split: "train" as const };
    const view = yield* Effect.option(environments.reset(request));
    const actions = Option.isSome(view) ? view.value.actions : null;
    const sentence = unknownNamesSentence(tag, actions, tokenizer);
    if (sentence !== undefined) yield* Console.error(sentence);
  }
});
