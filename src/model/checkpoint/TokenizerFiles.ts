/**
 * The files of a tokenizer in a checkpoint folder: two of JSON, and its chat template where that is a file of its own. They are copied as
 * they are from the checkpoint a run starts from into every checkpoint it writes, so that a trained model is loaded with the same tokenizer.
 */

import { join } from "node:path";
import { Effect, Result } from "effect";
import { replaceText } from "../../support/files/AtomicWrite.ts";
import { readText } from "../../support/files/readText.ts";
import { CheckpointError, checkpointError, fromFileError, fromUnknown } from "./CheckpointError.ts";

export type JsonObject = { readonly [key: string]: unknown };

/** Files that a chat template may be in; the first one found counts, before tokenizer_config.json's key. */
export const templateFiles = ["chat_template.jinja", "chat_template.json"] as const;

export interface TemplateFile {
  readonly name: (typeof templateFiles)[number];
  readonly text: string;
}

export interface TokenizerFiles {
  readonly tokenizerJson: JsonObject;
  readonly tokenizerConfig: JsonObject;
  readonly template?: TemplateFile;
}

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Bytes; tokenizers of large vocabularies have a tenth. */
const MAX_JSON_BYTES = 2 ** 28;

const parseJson = (text: string, path: string): Effect.Effect<unknown, CheckpointError> =>
  Effect.try({
    try: (): unknown => JSON.parse(text),
    catch: (cause) => checkpointError(path, "bad_config", cause instanceof Error ? cause.message : String(cause)),
  });

const textOf = (path: string): Effect.Effect<string, CheckpointError> =>
  Effect.tryPromise({ try: () => readText(path, MAX_JSON_BYTES), catch: (cause) => fromUnknown(path, cause) });

/** The JSON object in the file at `path`. Fails with `CheckpointError` naming the file. */
export const readJsonObject = (path: string): Effect.Effect<JsonObject, CheckpointError> =>
  Effect.gen(function* () {
    const json = yield* parseJson(yield* textOf(path), path);
    return isJsonObject(json) ? json : yield* checkpointError(path, "bad_config", "not a JSON object");
  });

const readTemplate = Effect.fnUntraced(function* (
  folder: string,
): Effect.fn.Return<Pick<TokenizerFiles, "template">, CheckpointError> {
  for (const name of templateFiles) {
    const text = yield* Effect.result(textOf(join(folder, name)));
    if (Result.isSuccess(text)) return { template: { name, text: text.success } };
    if (text.failure.reason !== "missing_file") return yield* text.failure;
  }
  return {};
});

/** Reads the files of `folder`. Fails with `CheckpointError`. */
export const read = (folder: string): Effect.Effect<TokenizerFiles, CheckpointError> =>
  Effect.all({
    template: readTemplate(folder),
    tokenizerJson: readJsonObject(join(folder, "tokenizer.json")).pipe(
      Effect.mapError((error) =>
        error.reason === "missing_file"
          ? new CheckpointError({
              ...error,
              message: `${error.path}: missing; a checkpoint folder needs the fast tokenizer's tokenizer.json (AutoTokenizer(…).save_pretrained writes it)`,
            })
          : error,
      ),
    ),
    tokenizerConfig: readJsonObject(join(folder, "tokenizer_config.json")),
  }).pipe(Effect.map(({ template, ...files }) => ({ ...files, ...template })));

const namedTemplate = (value: unknown): readonly (readonly [name: string, text: string])[] =>
  isJsonObject(value) && typeof value.name === "string" && typeof value.template === "string"
    ? [[value.name, value.template]]
    : [];

/** The templates that a `chat_template` key holds: one text, or a list of named ones. Undefined where it holds none. */
const templatesIn = (value: unknown): Result.Result<ChatTemplates | undefined, string> => {
  if (typeof value === "string") return Result.succeed({ chat: value });
  if (value === undefined || value === null) return Result.succeed(undefined);
  const named = new Map((Array.isArray(value) ? value : []).flatMap(namedTemplate));
  const [chat, tools] = [named.get("default"), named.get("tool_use")];
  if (chat !== undefined) return Result.succeed({ chat, ...(tools === undefined ? {} : { tools }) });
  const contents = named.size === 0 ? "neither a text nor named templates" : [...named.keys()].join(", ");
  return Result.fail(`chat_template has no template named "default"; it has ${contents}`);
};

/** Sources of a folder's chat templates. */
export interface ChatTemplates {
  readonly chat: string;
  /** The template named `tool_use`, which writes chats with tools instead, as in transformers. */
  readonly tools?: string;
}

/** The sources of the folder's chat templates; undefined where it has none. Fails with why one cannot be chosen. */
export const templatesOf = ({
  template,
  tokenizerConfig,
}: TokenizerFiles): Result.Result<ChatTemplates | undefined, string> => {
  if (template === undefined) return templatesIn(tokenizerConfig.chat_template);
  if (template.name === "chat_template.jinja") return Result.succeed({ chat: template.text });
  const json = Result.try({
    try: (): unknown => JSON.parse(template.text),
    catch: () => `${template.name} is no JSON`,
  });
  return Result.flatMap(json, (value) => templatesIn(isJsonObject(value) ? value.chat_template : undefined));
};

/** Writes the files into `folder`. Fails with `CheckpointError`. */
export const write = (folder: string, files: TokenizerFiles): Effect.Effect<void, CheckpointError> =>
  Effect.gen(function* () {
    const { template, tokenizerConfig, tokenizerJson } = files;
    yield* replaceText(join(folder, "tokenizer.json"), `${JSON.stringify(tokenizerJson, null, 2)}\n`);
    yield* replaceText(join(folder, "tokenizer_config.json"), `${JSON.stringify(tokenizerConfig, null, 2)}\n`);
    if (template !== undefined) yield* replaceText(join(folder, template.name), template.text);
  }).pipe(Effect.mapError(fromFileError));
