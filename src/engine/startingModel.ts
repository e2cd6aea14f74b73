/** The model that a run starts from, as far as it is needed here: where a server has the weights, its tokenizer and sizes alone. */
import { Effect } from "effect";
import { isLearnerRemote } from "../config/checks/learner.ts";
import type { RunConfig } from "../config/RunConfig.ts";
import { BadInput } from "../domain/Errors.ts";
import type { Position } from "../domain/Position.ts";
import { readEarlier } from "../learner/TrainerCheckpoint.ts";
import * as Model from "../model/Model.ts";
import * as StartingModel from "../model/StartingModel.ts";
import type { EarlierVersion } from "../model/weights/Weights.ts";
import { CustomModels } from "./CustomModels.ts";

/** Fails with BadInput naming the file, tensor or key. */
export const load = ({ model, run }: RunConfig): Effect.Effect<Model.Model, BadInput> =>
  isLearnerRemote(model) ? Model.loadWithoutWeights(model.path) : StartingModel.load(model.path, model, run.seed);

/** The weights in checkpoint `path` of a run that began with `start`; `start` itself where a server or the user's policy has them. */
export const resumedModel = (
  { model }: RunConfig,
  start: Model.Model,
  path: string,
): Effect.Effect<Model.Model, BadInput> =>
  Effect.flatMap(CustomModels, ({ policy }) =>
    isLearnerRemote(model) || policy !== undefined ? Effect.succeed(start) : StartingModel.loadResumed(start, path),
  );

/**
 * The versions before the newest one by which open windows of checkpoint `path` are played, ascending; none without a fixed lag. Fails with
 * BadInput where the checkpoint lacks one.
 */
export const earlierVersions = Effect.fnUntraced(function* (
  { checkpoint }: Model.Model,
  path: string,
  { fixedLag, version }: Position,
): Effect.fn.Return<readonly EarlierVersion[], BadInput> {
  if (fixedLag === null) return [];
  const earlier = yield* Effect.mapError(
    readEarlier(path, checkpoint.config),
    ({ message }) => new BadInput({ message }),
  );
  const present = new Set([version, ...earlier.map(({ version }) => version)]);
  const missing = fixedLag.versions.find((needed) => !present.has(needed));
  if (missing === undefined) return earlier;
  return yield* new BadInput({
    message: `${path}: it lacks weights version ${missing}, by which a window of the run is played`,
  });
});
