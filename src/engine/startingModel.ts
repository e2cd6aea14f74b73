/** The model that a run starts from, as far as it is needed here: where a server has the weights, its tokenizer and sizes alone. */
import { Effect } from "effect";
import { isLearnerRemote } from "../config/checks/learner.ts";
import type { RunConfig } from "../config/RunConfig.ts";
import type { BadInput } from "../domain/Errors.ts";
import * as Model from "../model/Model.ts";
import * as StartingModel from "../model/StartingModel.ts";
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
