/**
 * Collects a plan's inputs from a run file and the folders it names: config.json and the tokenizer of a model, the
 * header of an adapter. Invariant: it reads no weights and loads no code of the user.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { Effect } from "effect";
import { playedTags } from "../src/config/levels.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { BadInput } from "../src/domain/Errors.ts";
import type { BoundEnvironment } from "../src/env/contract/BoundEnvironment.ts";
import { answer } from "../src/env/pool/answer.ts";
import { readModelConfig } from "../src/model/checkpoint/HuggingFaceFolder.ts";
import { isAdapter, readBase, readDescription } from "../src/model/checkpoint/PeftFolder.ts";
import type { DecoderConfig } from "../src/model/graphs/Architecture.ts";
import * as Model from "../src/model/Model.ts";
import { start } from "../src/rollout/episode.ts";
import { instanceKey } from "../src/rollout/keys.ts";
import * as Rollout from "../src/rollout/Rollout.ts";
import { tasksOf } from "../src/rollout/Task.ts";
import type { PlannedRun } from "../src/tools/planning/PlannedRun.ts";
import type { PipelineName } from "./pipelineName.ts";
import { readyEnvironments } from "./presets.ts";

const unusable = ({ message }: { readonly message: string }) => new BadInput({ message });

const bytesOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

/** The sizes of the model in `folder`. */
const decoderIn = (folder: string): Effect.Effect<DecoderConfig, BadInput> =>
  Effect.mapBoth(readModelConfig(folder), { onSuccess: ({ config }) => config, onFailure: unusable });

/** Instances of each tag whose prompts are measured. */
const INSTANCES = 4;

const promptOf = (rollout: Rollout.Rollout, environments: ReadonlyMap<string, BoundEnvironment>) =>
  function* (tag: string, from: number) {
    const task = rollout.tasks.get(tag);
    if (task === undefined) return;
    for (let seed = from; seed < from + INSTANCES; seed++) {
      const shown = answer(environments, {
        _tag: "Reset",
        reset: { tag, instance: instanceKey(seed), split: "train" },
      });
      if (shown._tag === "View") yield start(rollout, task, seed, shown.view).opening.length;
    }
  };

/** Tokens of the longest first prompt among some of each tag; null where prompts are a server's, come from data to be loaded, or are the user's. */
const promptTokens = Effect.fnUntraced(function* (pipeline: PipelineName, config: RunConfig, folder: string) {
  const { es_manager, sft } = config;
  if (pipeline === "sft" && sft.conversations.path !== "") return null;
  const side = pipeline === "evaluate" ? "val" : "train";
  const instances = es_manager[side];
  const tags = pipeline === "sft" ? sft.sources.map(({ tag }) => tag) : playedTags(config, side);
  const environments = yield* readyEnvironments(config, tags);
  if (environments === null) return null;
  const { chat, tokenizer } = yield* Model.loadWithoutWeights(folder);
  const rollout = Rollout.make(config, tasksOf(config.custom_envs, environments), chat, tokenizer);
  const lengths = tags.flatMap((tag) => [...promptOf(rollout, environments)(tag, instances.seed)]);
  return lengths.length === 0 ? null : Math.max(...lengths);
});

/** The model's folder and sizes: those of `folder`, of the base of an adapter there, or of the base with the adapter of `model.adapter`. */
const modelIn = Effect.fnUntraced(function* (folder: string, { adapter }: RunConfig["model"]) {
  const isAlone = yield* isAdapter(folder);
  const base = isAlone ? yield* Effect.mapError(readBase(folder), unusable) : folder;
  const decoder = yield* decoderIn(base);
  const described = isAlone ? folder : adapter;
  if (described === "") return { folder: base, decoder };
  return {
    folder: base,
    decoder: { ...decoder, adapter: yield* Effect.mapError(readDescription(described), unusable) },
  };
});

/** Fails with BadInput where a folder cannot be used. */
export const plannedRun = Effect.fnUntraced(function* (pipeline: PipelineName, config: RunConfig) {
  const { model, sft } = config;
  if (pipeline === "sft" && sft.init === "random") {
    const { config: decoder } = yield* Model.randomShape(sft.architecture);
    const run: PlannedRun = { pipeline, config, decoder, tokenizerBytes: 0, promptTokens: null };
    return run;
  }
  const { decoder, folder } = yield* modelIn(pipeline === "sft" ? sft.init : model.path, model);
  const run: PlannedRun = {
    pipeline,
    config,
    decoder,
    tokenizerBytes: bytesOf(join(folder, "tokenizer.json")),
    promptTokens: yield* promptTokens(pipeline, config, folder),
  };
  return run;
});
