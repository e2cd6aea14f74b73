/**
 * The sft pipeline: clones the episodes of solvers, so that a policy has something to improve on. A resolved configuration goes in, a
 * Hugging Face folder comes out. Validation instances of every source are left out by content.
 */
import { mkdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { Console, Effect } from "effect";
import * as Cloning from "../src/cloning/Cloning.ts";
import { heldOut } from "../src/cloning/heldOut.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { BadInput, type EnvironmentError, type LearnerError } from "../src/domain/Errors.ts";
import { stream } from "../src/domain/Random.ts";
import * as Model from "../src/engine/Model.ts";
import * as RunFolder from "../src/engine/RunFolder.ts";
import { prepareAll } from "../src/env/prepare.ts";
import { replaceFolder } from "../src/files/AtomicWrite.ts";
import * as LearnerThread from "../src/learner/LearnerThread.ts";
import { readCheckpoint, writeCheckpoint } from "../src/policy/checkpoint/HuggingFaceFolder.ts";
import { parameterCount } from "../src/policy/model/Architecture.ts";
import * as Rollout from "../src/rollout/Rollout.ts";
import { fromPreset } from "../src/rollout/Task.ts";
import { boundEnvironments, withInstances } from "./presets.ts";

/** The learner's weights as a model folder, without what only a learner needs. */
const publish = (learner: LearnerThread.LearnerThread, output: string) =>
  replaceFolder(output, (partial) =>
    Effect.gen(function* () {
      const state = join(partial, "learner");
      yield* Effect.promise(() => mkdir(state));
      yield* learner.save(state);
      yield* writeCheckpoint(partial, yield* readCheckpoint(state));
      yield* Effect.promise(() => rm(state, { recursive: true }));
    }),
  ).pipe(Effect.catchTag(["CheckpointError", "FileError"], ({ message }) => Effect.fail(new BadInput({ message }))));

export const sft = ({
  config,
}: {
  readonly config: RunConfig;
  readonly debug: boolean;
}): Effect.Effect<void, BadInput | LearnerError | EnvironmentError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const output = resolve(config.sft.output);
      yield* RunFolder.makeParent(output);
      yield* Model.checkReplaceable("sft.output", output);
      const model =
        config.sft.init === "random"
          ? yield* Model.fresh(
              config.sft.architecture,
              stream({ seed: config.run.seed, purpose: "initialisation", counters: [] }),
            )
          : yield* Model.load(config.sft.init);
      yield* Model.checkContext(config, model);
      const environments = yield* boundEnvironments(
        config,
        config.sft.sources.map(({ tag }) => tag),
      );
      yield* prepareAll(environments);
      const sources = yield* Effect.forEach(
        config.sft.sources,
        Effect.fnUntraced(function* (source) {
          const environment = environments.get(source.tag)!;
          if (environment.asynchronous) {
            const message = `sft.sources: ${source.tag} waits for another side and has no solver to clone`;
            return yield* new BadInput({ message });
          }
          const task = fromPreset(source.tag, config.custom_envs[source.tag]!, environment);
          return { ...source, environment, task };
        }),
      );
      const rollout = Rollout.make(
        config,
        sources.map(({ task }) => task),
        model.chat,
        model.tokenizer,
      );
      const tags = sources.map(({ tag }) => tag).join(", ");
      const excluded = yield* withInstances("sft.sources", () => heldOut(sources, config.es_manager.val));
      const demonstrator = {
        rollout,
        tokenizer: model.tokenizer,
        noise: config.sft.noise,
        seed: config.run.seed,
        excluded: (key: string) => excluded.has(key),
      };
      const { episodes, failures } = Cloning.demonstrations(demonstrator, sources);
      const [first] = failures;
      const failed = first === undefined ? "" : `; ${failures.length} failed, the first: ${first.message}`;
      const asked = sources.reduce((sum, source) => sum + source.episodes, 0);
      const none = asked - episodes.length - failures.length;
      const left = none === 0 ? "" : ` (${none} instances are validation's or have no solution)`;
      if (episodes.length === 0) {
        return yield* new BadInput({ message: `sft.sources: no demonstration of ${tags} is left to clone${failed}` });
      }
      yield* Console.log(
        `${parameterCount(model.checkpoint.parameters.specs)} parameters, ${model.tokenizer.vocabSize} tokens; ` +
          `${episodes.length} demonstrations of ${tags}${left}${failed}`,
      );

      const learner = yield* LearnerThread.make({
        checkpoint: model.checkpoint,
        trainer: LearnerThread.trainerOptions(config),
      });
      const every = Math.max(1, Math.floor(config.sft.steps / 20));
      yield* Cloning.clone(learner, episodes, config, ({ step, loss, gradNorm, lr }) =>
        step % every === 0 || step === 1 || step === config.sft.steps
          ? Console.log(
              `step ${step}/${config.sft.steps}  loss ${loss.toFixed(4)}  grad_norm ${gradNorm.toFixed(2)}  lr ${lr.toExponential(2)}`,
            )
          : Effect.void,
      );

      yield* publish(learner, output);
      yield* Console.log(`wrote ${join(output, "model.safetensors")}`);
    }),
  );
