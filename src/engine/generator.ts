/** The generator that a run file asks for: threads of this process, or a server. */
import { Effect, type Scope } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import type { Version } from "../domain/Episode.ts";
import type { BadInput, PolicyError } from "../domain/Errors.ts";
import * as CustomPolicy from "../generation/CustomPolicy.ts";
import { type Generator, localGenerator } from "../generation/Generator.ts";
import type { Model } from "../model/Model.ts";
import type { EarlierVersion } from "../model/weights/Weights.ts";
import type { RecordedModels } from "./CustomModels.ts";

/** Parts of a generator beside its model. */
export interface GeneratorParts {
  /** A policy of the user's own, in the generator's place. */
  readonly custom?: CustomPolicy.CustomPolicy | undefined;
  /** Makes the generator of a replay. */
  readonly recorded?: RecordedModels["generator"] | undefined;
  /** Versions before the newest one, ascending, which open windows of a fixed lag are played by. Default none. */
  readonly earlier?: readonly EarlierVersion[];
}

/** Starts from `model`'s weights as `version`. `folder` is the run's own. */
export const generator = (
  config: RunConfig,
  model: Model,
  version: Version,
  folder: string,
  { custom, earlier = [], recorded }: GeneratorParts = {},
): Effect.Effect<Generator, BadInput | PolicyError, Scope.Scope> => {
  const { engine } = config.model.generator;
  if (recorded !== undefined) return recorded(model, version, earlier);
  if (custom !== undefined) return CustomPolicy.make(custom, config, model, version);
  switch (engine) {
    case "local":
      return localGenerator(config, model, version, { earlier });
    case "tinker":
      return Effect.flatMap(
        Effect.promise(() => import("./tinkerGenerator.ts")),
        ({ tinkerGenerator }) => tinkerGenerator(config, model),
      );
    default:
      return Effect.flatMap(
        Effect.promise(() => import("../remote/generation/openServers.ts")),
        ({ openServers }) => openServers(engine, config, model, version, folder),
      );
  }
};
