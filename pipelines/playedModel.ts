/** Loads a model that plays or replies and is not trained: a whole model, or an adapter beside its base. */
import { Effect } from "effect";
import { generatorDevice } from "../src/config/devices.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { format } from "../src/domain/Device.ts";
import { BadInput } from "../src/domain/Errors.ts";
import * as StartingModel from "../src/model/StartingModel.ts";
import { checkDevices, tellDevices } from "./devices.ts";
import { tellLoading } from "./loading.ts";

/** Loads the model in `path`. Fails with BadInput if the generator's device is not there or cannot hold it. */
export const loadPlayedModel = Effect.fnUntraced(function* (config: RunConfig, path: string) {
  yield* tellLoading(path);
  const model = yield* StartingModel.loadForPlay(path, config.model);
  const device = generatorDevice(config.model);
  if (model.checkpoint.adapter !== undefined && device.kind === "cuda") {
    const message = `model.device: ${format(device)}: the adapter of ${path} plays on cpu and webgpu; nearest: webgpu, or a folder that millrace merge writes`;
    return yield* new BadInput({ message });
  }
  yield* checkDevices(config, ["generator"]);
  yield* tellDevices(config, ["generator"], model.checkpoint);
  return model;
});
