/**
 * From a run file to a configuration that may run: one set of checks in one order, for the command line, the package and sweeps. Invariant: nothing is
 * started here, and no weights are read.
 */
import { isAbsolute, join } from "node:path";
import { Effect } from "effect";
import { runNames } from "../src/config/compose.ts";
import type { InheritedValue } from "../src/config/inheritedValues.ts";
import { allPlayedTags } from "../src/config/levels.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { resolve, warn } from "../src/config/resolve.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { installedPeer, MISSING_PEER, type ResolvePackage } from "../src/model/runtime/tfjs/peer.ts";
import { checkAddressSpace } from "./addressSpace.ts";
import { withAdapterFolder, withModelFolders } from "./configFolders.ts";
import { namedModel, namedRun } from "./namedRun.ts";
import { configDir } from "./paths.ts";
import type { PipelineName } from "./pipelineName.ts";
import { checkPresets } from "./presets.ts";
import { checkInherited } from "./smallModel.ts";

/** Fails with BadInput where `model.runtime` is tfjs and none of its packages is found. `find` is Node's own look-up by default. */
export const checkRuntime = (
  { model }: Pick<RunConfig, "model">,
  find?: ResolvePackage,
): Effect.Effect<void, BadInput> =>
  model.runtime === "tfjs" && installedPeer(find) === undefined
    ? Effect.fail(new BadInput({ message: MISSING_PEER }))
    : Effect.void;

/** The words of a command line that select and change a run file. */
export interface RunWords {
  readonly configName: string | null;
  /** A file whose presets replace those of the run file's `envs`. */
  readonly envs: string | null;
  readonly overrides: readonly string[];
  /** A run to go on with, whose own config.yaml counts. */
  readonly resume: string | null;
}

/** The run file: the named one, or that of the run to resume. */
const resolvedFile = Effect.fnUntraced(function* (
  pipeline: PipelineName,
  { configName, envs, overrides, resume }: RunWords,
) {
  if (resume !== null) {
    const folder = yield* namedRun("--resume", resume);
    return { ...(yield* resolve(join(folder, "config.yaml"), overrides, configDir)), resume: folder };
  }
  if (configName === null) {
    const names = runNames(configDir).join(", ");
    return yield* new BadInput({ message: `${pipeline}: --config-name is missing; run files: ${names}` });
  }
  return { ...(yield* resolve(configName, overrides, configDir, envs)), resume };
});

/** The run file of a pipeline that may run it. */
const fileOf = Effect.fnUntraced(function* (pipeline: PipelineName, words: RunWords) {
  const file = yield* resolvedFile(pipeline, words);
  if (file.isValidationOnly && pipeline !== "evaluate") {
    const name = words.configName ?? "NAME";
    const message = `${pipeline}: trainer.val_only: this run file only validates; nearest: millrace evaluate --config-name ${name}`;
    return yield* new BadInput({ message });
  }
  yield* warn(file);
  return file;
});

/** With absolute paths of the folders that the run reads, so that its config.yaml means the same from any working directory. */
const withFolders = Effect.fnUntraced(function* (
  pipeline: PipelineName,
  config: RunConfig,
  inherited: readonly InheritedValue[],
) {
  if (pipeline === "evaluate") {
    const withModel = yield* withModelFolders(config);
    // An evaluation of endpoints alone leaves it as it is written.
    if (isAbsolute(withModel.model.path)) {
      yield* checkInherited("model.path", withModel.model.path, config.model.path, inherited);
    }
    return withModel;
  }
  if (pipeline !== "sft") {
    const path = yield* namedModel("model.path", config.model.path);
    yield* checkInherited("model.path", path, config.model.path, inherited);
    return { ...config, model: { ...config.model, path } };
  }
  if (config.sft.init === "random") return config;
  const init = yield* namedModel("sft.init", config.sft.init);
  yield* checkInherited("sft.init", init, config.sft.init, inherited);
  return { ...config, sft: { ...config.sft, init } };
});

/** A configuration with its presets checked and its folders found. `inherited` are values that its run file has for a small model. */
export const checkConfig = Effect.fnUntraced(function* (
  pipeline: PipelineName,
  config: RunConfig,
  inherited: readonly InheritedValue[] = [],
) {
  const tags = pipeline === "sft" ? config.sft.sources.map(({ tag }) => tag) : allPlayedTags(config);
  yield* checkPresets(config, tags);
  return yield* withFolders(pipeline, yield* withAdapterFolder(config), inherited);
});

/** Fails with BadInput if this machine lacks the packages for a configuration, or the address space for its threads. */
export const checkThreads = Effect.fnUntraced(function* (pipeline: PipelineName, config: RunConfig) {
  yield* checkRuntime(config);
  yield* checkAddressSpace(pipeline, config);
});

/** Fails with BadInput if this machine lacks the memory for a configuration. */
export const checkMemory = Effect.fnUntraced(function* (pipeline: PipelineName, config: RunConfig) {
  const { checkMemory } = yield* Effect.promise(() => import("./plan.ts"));
  yield* checkMemory(pipeline, config);
});

/** Fails with BadInput if this machine cannot run a configuration. */
const checkMachine = Effect.fnUntraced(function* (pipeline: PipelineName, config: RunConfig) {
  yield* checkThreads(pipeline, config);
  yield* checkMemory(pipeline, config);
});

/** `checkConfig` and `checkMachine` of a configuration from code. */
export const prepareConfig = Effect.fnUntraced(function* (pipeline: PipelineName, config: RunConfig) {
  const found = yield* checkConfig(pipeline, config);
  yield* checkMachine(pipeline, found);
  return found;
});

/** The configuration that a command's words name, checked, and the folder of the run to resume or null. */
export const checkedRun = Effect.fnUntraced(function* (pipeline: PipelineName, words: RunWords) {
  const { config, inherited, resume } = yield* fileOf(pipeline, words);
  return { config: yield* checkConfig(pipeline, config, inherited), resume };
});

/** The same where this machine can run it. */
export const prepareRun = Effect.fnUntraced(function* (pipeline: PipelineName, words: RunWords) {
  const { config, resume } = yield* checkedRun(pipeline, words);
  yield* checkMachine(pipeline, config);
  return { config, resume };
});
