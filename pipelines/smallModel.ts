/**
 * Refuses a large model under values that a run file has for the small one: its compact template, its short replies and its short context. A
 * model is small where its tokenizer has the nano model's one-token role markers. Naming the values beside the model accepts them.
 */
import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { Effect, Exit } from "effect";
import { runFileNames } from "../src/config/compose.ts";
import type { InheritedValue } from "../src/config/inheritedValues.ts";
import type { Resolution } from "../src/config/resolve.ts";
import { showText, showValue } from "../src/config/show.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { namedModel } from "./namedRun.ts";
import { configDir } from "./paths.ts";

/** True for a folder of a small model; null if its config.json cannot be read. */
const isSmall = (folder: string): boolean | null => {
  try {
    const config: unknown = JSON.parse(readFileSync(join(folder, "tokenizer_config.json"), "utf8"));
    if (typeof config !== "object" || config === null) return null;
    return "millrace_chat_style" in config && config.millrace_chat_style === "compact";
  } catch {
    return null;
  }
};

/** RAGEN's own values of a run file, where the package has them under the same name. */
const counterpart = (origins: readonly string[]): string => {
  const names = runFileNames(join(configDir, "ragen"));
  const found = origins.map((origin) => basename(origin, ".yaml")).find((name) => names.includes(name));
  return found === undefined ? "" : `--config-name ragen/${found}, or `;
};

/** The key that names a model. */
export type ModelKey = "model.path" | "sft.init";

/** Warns of values that were set for the small model; null if there are none. */
export const inheritedSentence = (key: ModelKey, path: string, inherited: readonly InheritedValue[]): string | null => {
  if (inherited.length === 0) return null;
  const origins = [...new Set(inherited.map(({ origin }) => origin))];
  const values = inherited.map(({ key, value }) => `${key} ${value}`).join(", ");
  const files = showText(origins.join(", "), 200);
  const keys = inherited.map(({ key }) => key).join(", ");
  return `${key}: ${showValue(path)}: ${files} has ${values} for the small model; nearest: ${counterpart(origins)}set ${keys} beside ${key}`;
};

/** Fails where `folder`, which `key` names as `path`, holds no small model and values of one were inherited. */
export const checkInherited = (
  key: ModelKey,
  folder: string,
  path: string,
  inherited: readonly InheritedValue[],
): Effect.Effect<void, BadInput> => {
  const message = inheritedSentence(key, path, inherited);
  if (message === null || !existsSync(folder) || isSmall(folder) !== false) return Effect.void;
  return Effect.fail(new BadInput({ message }));
};

/** The same of a run file whose model folder may not be here: then what a user should know, one line each. */
export const checkFile = Effect.fnUntraced(function* ({ config, inherited }: Resolution) {
  const { path } = config.model;
  const folder = yield* Effect.exit(namedModel("model.path", path));
  if (Exit.isSuccess(folder)) {
    yield* checkInherited("model.path", folder.value, path, inherited);
    return [];
  }
  const sentence = inheritedSentence("model.path", path, inherited);
  return [`model.path: ${showValue(path)}: no such folder here`, ...(sentence === null ? [] : [sentence])];
});
