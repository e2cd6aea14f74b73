/**
 * Predicts the memory that a run's roles keep on a device that keeps tensors. The memory of their passes there is not predicted;
 * `Owners.ts` counts it, and everything else of a run, as if all were in host memory.
 * Invariant: empty for a run whose roles compute on a device that keeps nothing.
 */
import { isLearnerRemote } from "../../config/checks/learner.ts";
import { generatorDevice, learnerDevice } from "../../config/devices.ts";
import { isResident } from "../../domain/Device.ts";
import { elementCount, type ParameterSpec } from "../../model/graphs/Architecture.ts";
import { isFloat16Parameter } from "../../model/graphs/DeviceDecode.ts";
import { frozenParameters, trainedParameters } from "../../model/graphs/TrainedParameters.ts";
import { cacheBytes, hasOwnReference, type Item, laggedVersions, weightBytes } from "./Owners.ts";
import type { PlannedRun } from "./PlannedRun.ts";
import { generatorShape, passShape } from "./Shapes.ts";
import { threadsOf } from "./threadsOf.ts";

/** Gradients that are held at once where several passes are summed: the sum, another, and the new sum. */
const SUMMED = 3;

const learnerItems = (run: PlannedRun): readonly Item[] => {
  const { model } = run.config;
  if (threadsOf(run).lanes === 0 || isLearnerRemote(model) || !isResident(learnerDevice(model))) return [];
  const { critic, frozen, policy } = weightBytes(run);
  const largest = Math.max(policy, critic);
  const owner = "learner";
  return [
    { owner, what: "weights beside the adapter", bytes: frozen, during: "always" },
    { owner, what: "policy: weights", bytes: policy, during: "always" },
    { owner, what: "policy: moments", bytes: 2 * policy, during: "always" },
    { owner, what: "reference: weights", bytes: hasOwnReference(run) ? policy : 0, during: "always" },
    { owner, what: "critic: weights", bytes: critic, during: "always" },
    { owner, what: "critic: moments", bytes: 2 * critic, during: "always" },
    { owner, what: "gradients", bytes: (passShape(run).passes > 1 ? SUMMED : 1) * largest, during: "update" },
    { owner, what: "next weights and moments", bytes: 3 * largest, during: "update" },
  ];
};

const generatorItems = (run: PlannedRun): readonly Item[] => {
  const { config, decoder } = run;
  if (threadsOf(run).generators === 0 || !isResident(generatorDevice(config.model))) return [];
  const isHalf = config.model.generator_dtype === "float16";
  const halved = isFloat16Parameter(decoder);
  const bytesOf = (specs: readonly ParameterSpec[]): number =>
    specs.reduce((sum, spec) => sum + elementCount(spec.shape) * (isHalf && halved(spec) ? 2 : 4), 0);
  const { capacity, prefixes, rows } = generatorShape(run);
  const caches = (count: number): number => cacheBytes(decoder, count, capacity) / (isHalf ? 2 : 1);
  const live = caches(rows);
  const owner = "generator";
  return [
    { owner, what: "weights beside the adapter", bytes: bytesOf(frozenParameters(decoder)), during: "always" },
    {
      owner,
      what: "weights",
      bytes: Math.max(1, laggedVersions(run)) * bytesOf(trainedParameters(decoder)),
      during: "always",
    },
    { owner, what: "keys and values", bytes: live, during: "always" },
    { owner, what: "keys and values of the next step", bytes: live, during: "rollout" },
    // Both sets of rows have one capacity.
    { owner, what: "shared prefixes", bytes: caches(prefixes.rows), during: "always" },
  ];
};

export const deviceItems = (run: PlannedRun): readonly Item[] =>
  [...learnerItems(run), ...generatorItems(run)].filter(({ bytes }) => bytes > 0);
