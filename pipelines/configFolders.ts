/**
 * Makes the paths of models in a configuration absolute, so that a run's config.yaml means the same from any working directory. A run that is named
 * in place of a model stands for its checkpoint.
 */
import { Effect } from "effect";
import { playersOf } from "../src/config/players.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import type { BadInput } from "../src/domain/Errors.ts";
import { namedModel } from "./namedRun.ts";

/** The configuration with the absolute path of the adapter that it names, if it names one. */
export const withAdapterFolder = (config: RunConfig): Effect.Effect<RunConfig, BadInput> =>
  config.model.adapter === ""
    ? Effect.succeed(config)
    : Effect.map(namedModel("model.adapter", config.model.adapter), (adapter) => ({
        ...config,
        model: { ...config.model, adapter },
      }));

/** The configuration of an evaluation, with absolute paths of the checkpoints that play; an endpoint needs none. */
export const withModelFolders = (config: RunConfig): Effect.Effect<RunConfig, BadInput> =>
  Effect.gen(function* () {
    const players = playersOf(config);
    const { evaluation, model } = config;
    const listed = evaluation.models.length > 0;
    const models = yield* Effect.forEach(evaluation.models, (entry, index) =>
      entry.path === ""
        ? Effect.succeed(entry)
        : Effect.map(namedModel(`evaluation.models.${index}.path`, entry.path), (path) => ({ ...entry, path })),
    );
    const plays = players.some(
      (player, index) => player._tag === "Checkpoint" && (!listed || evaluation.models[index]?.path === ""),
    );
    const path = plays ? yield* namedModel("model.path", model.path) : model.path;
    return { ...config, model: { ...model, path }, evaluation: { ...evaluation, models } };
  });
