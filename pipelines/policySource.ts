/**
 * From the word that names a policy in code to its configuration: a run under its own run file, a run file, or a model's folder. Invariant: code that
 * a run's folder names is not trusted by being named there.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { Effect, Option, Result, Schema } from "effect";
import { locate } from "../src/config/compose.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { resolve, warn } from "../src/config/resolve.ts";
import { get, type Tree } from "../src/config/Tree.ts";
import type { BadInput } from "../src/domain/Errors.ts";
import { CONFIG } from "../src/observe/record/RunFolders.ts";
import { readText } from "../src/support/files/readText.ts";
import { type Changes, layersOf } from "./compose.ts";
import { foreignCode, foreignCodeError, isOverridden } from "./foreignCode.ts";
import { namedPolicy } from "./namedRun.ts";
import { configDir } from "./paths.ts";
import type { OwnModules } from "./RunFile.ts";
import { checkFile } from "./smallModel.ts";

/** The parts of a source: the run file, the weights that take the place of its own, and their run. */
interface PolicySource {
  readonly runFile: string;
  readonly path: string | null;
  readonly run: string | null;
}

/** The run file of a model's folder: the schema's defaults. */
const modelRunFile = "base";

const isRunFile = (file: string): boolean => statSync(file, { throwIfNoEntry: false })?.isFile() === true;

const sourceOf = Effect.fnUntraced(function* (key: string, word: string) {
  const file = yield* Effect.result(locate(word, configDir));
  if (Result.isSuccess(file) && isRunFile(file.success)) return { runFile: word, path: null, run: null };
  const named = yield* Effect.result(namedPolicy(key, word));
  if (Result.isFailure(named)) {
    // A word without a slash or a step is more likely the misspelt name of a run file.
    const isName = /^[^/\\@]+$|\.ya?ml$/.test(word);
    return yield* isName && Result.isFailure(file) ? file.failure : named.failure;
  }
  const { path, run } = named.success;
  const source: PolicySource = { runFile: run === null ? modelRunFile : join(run, CONFIG), path, run };
  return source;
});

/** A checkpoint plays by itself, whatever its run evaluated or trained on. */
const sourceTree = ({ path }: PolicySource): Tree =>
  path === null
    ? {}
    : { model: { path, adapter: "" }, evaluation: { endpoint: { kind: "none", model: "" }, models: [] } };

/** A policy's configuration, with its weights as `model.path`. */
export interface ComposedPolicy {
  readonly config: RunConfig;
  /** False for a model's folder, which says nothing of how its policy is prompted or what it plays. */
  readonly hasRunFile: boolean;
  /** True for a key that the changes or the user's modules set. */
  readonly isChanged: (key: string) => boolean;
  /** Fails with BadInput if the run's folder names code that is not the user's and that the changes do not name. */
  readonly checkTrusted: Effect.Effect<void, BadInput>;
}

/** The configuration of the policy that `word`, the value of `key`, names, under changes. */
export const composePolicy = Effect.fnUntraced(function* (
  key: string,
  word: string,
  changes: Changes,
  modules: OwnModules,
) {
  const source = yield* sourceOf(key, word);
  const { run, runFile } = source;
  const { layers, overrides } = layersOf(changes, modules);
  const below = { origin: word, tree: sourceTree(source) };
  const resolved = yield* resolve(runFile, overrides, configDir, null, [below, ...layers]);
  yield* warn(resolved);
  // A run's own values suit its own model.
  if (run === null) yield* checkFile(resolved);
  const { config } = resolved;
  const isChanged = (name: string): boolean =>
    isOverridden(name, overrides) || layers.some(({ tree }) => get(tree, name.split(".")) !== undefined);
  const composed: ComposedPolicy = {
    config,
    hasRunFile: runFile !== modelRunFile,
    isChanged,
    checkTrusted: Effect.suspend(() => {
      if (run === null) return Effect.void;
      const foreign = foreignCode(config, run, process.cwd()).filter(({ key }) => !isChanged(key));
      const remedy = "name it in the changes, or an environment in `environments`, to run it";
      return foreign.length === 0 ? Effect.void : Effect.fail(foreignCodeError(run, foreign, remedy));
    }),
  };
  return composed;
});

const State = Schema.fromJsonString(Schema.Struct({ position: Schema.Struct({ version: Schema.Int }) }));

/** Longest `run.json` that is read, in bytes. */
const longestState = 2 ** 24;

/** The weights version of a training's checkpoint; 0 for any other model. */
export const versionIn = (folder: string): Effect.Effect<number> =>
  Effect.tryPromise(() => readText(join(folder, "run.json"), longestState)).pipe(
    Effect.map((text) => Option.map(Schema.decodeUnknownOption(State)(text), ({ position }) => position.version)),
    Effect.map(Option.getOrElse(() => 0)),
    Effect.orElseSucceed(() => 0),
  );
