/**
 * The learner's parts of the user's own, from modules that a run file names: an advantage estimator and a policy loss. They are loaded in the
 * learner's thread. Invariant: a module that cannot train is refused before the run begins, in a sentence that names its key.
 */
import { isDeepStrictEqual } from "node:util";
import { Result } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import { float32, int64, Session } from "../model/runtime/Session.ts";
import { CallError } from "../model/runtime/serve.ts";
import type { Tensor } from "../model/tensor/Graph.ts";
import { defaultExport, loadExports } from "../support/modules/loadExports.ts";
import { describeModuleError } from "../support/modules/moduleError.ts";
import type { AdvantageEstimator } from "./advantages/AdvantageEstimator.ts";
import { lossModel } from "./losses/lossModel.ts";
import type { LossDefinition, Surrogate } from "./losses/policyLoss.ts";
import { policyLossOptions } from "./models.ts";

export interface CustomParts {
  readonly estimator?: AdvantageEstimator;
  readonly loss?: LossDefinition;
}

type LearnerKeys = Pick<RunConfig, "actor" | "algorithm">;

const refuse = (key: string, path: string, problem: string): never => {
  throw new CallError("refused", `${key}: ${path}: ${problem}`);
};

/** Returns the default export of the module at `path`. Throws `refused` if there is none. */
const load = async (key: string, path: string, noun: string): Promise<unknown> => {
  const found = Result.flatMap(await loadExports(path), (exported) => defaultExport(exported, noun));
  return Result.isSuccess(found) ? found.success : refuse(key, path, found.failure);
};

const hasMethod = <Name extends string>(
  value: unknown,
  name: Name,
): value is Readonly<Record<Name, (...args: never[]) => unknown>> =>
  typeof value === "object" && value !== null && typeof Reflect.get(value, name) === "function";

const isEstimator = (value: unknown): value is AdvantageEstimator => hasMethod(value, "estimate");
const isTensor = (value: unknown): value is Tensor =>
  typeof value === "object" && value !== null && "shape" in value && "graph" in value;
const isLoss = (value: unknown): value is LossDefinition => hasMethod(value, "surrogate");

/** Calls a function of the module at `path`; its error names the module's line. */
const guarded = <Args extends readonly unknown[], Value>(key: string, path: string, call: (...args: Args) => Value) => {
  return (...args: Args): Value => {
    try {
      return call(...args);
    } catch (cause) {
      throw new CallError("refused", `${key}: ${describeModuleError(path, cause)}`);
    }
  };
};

const loadEstimator = async (path: string): Promise<AdvantageEstimator> => {
  const key = "algorithm.custom_estimator";
  const estimator = await load(key, path, "estimator");
  if (!isEstimator(estimator))
    return refuse(key, path, "the default export is no estimator: it has no function estimate");
  return { estimate: guarded(key, path, (episodes) => estimator.estimate(episodes)) };
};

/** Log ratios and advantages of the targets that a loss is tried on: one sequence of six. */
const trial = {
  logRatios: Float32Array.of(-0.1, 0, 0.1, -0.1, 0, 0.1),
  advantages: Float32Array.of(1, 1, 1, -1, -1, -1),
};

/** Returns the loss's gradient by the log-probabilities of a few targets. */
const trialGradient = async (loss: LossDefinition, { actor, algorithm }: LearnerKeys): Promise<Float32Array> => {
  const options = policyLossOptions(
    { ...actor, policy_loss: "custom", use_kl_loss: false, entropy_coeff: 0 },
    algorithm,
    loss,
  );
  const session = await Session.open(lossModel({ ...options, logLinear: undefined }));
  const size = trial.advantages.length;
  const filled = (value: number) => float32(new Float32Array(size).fill(value), [size]);
  try {
    using outputs = await session.run({
      logp: float32(trial.logRatios, [size]),
      old: filled(0),
      entropy: filled(1),
      advantages: float32(trial.advantages, [size]),
      weights: filled(1),
      importance: filled(1),
      ...(loss.bySequence === true ? { sequences: int64(new BigInt64Array(size), [size]) } : {}),
    });
    return outputs.float32("dlogp").slice();
  } finally {
    await session.close();
  }
};

/** Checks that a surrogate is a tensor with one loss for each target, because another shape would be broadcast. */
const perTarget = (surrogate: Surrogate): Surrogate => {
  return (inputs, clip) => {
    const losses: unknown = surrogate(inputs, clip);
    const expected = inputs.logp.shape;
    if (!isTensor(losses)) throw new Error(`surrogate returned ${typeof losses}, and not a tensor`);
    if (isDeepStrictEqual(losses.shape, expected)) return losses;
    throw new Error(
      `surrogate returned a tensor of shape [${losses.shape.join(", ")}], and not [${expected.join(", ")}]`,
    );
  };
};

const loadLoss = async (path: string, keys: LearnerKeys): Promise<LossDefinition> => {
  const key = "actor.custom_loss";
  const loss = await load(key, path, "loss");
  if (!isLoss(loss)) return refuse(key, path, "the default export is no policy loss: it has no function surrogate");
  const { loss_agg_mode: aggregation } = keys.actor;
  if (loss.bySequence === true && aggregation !== "seq-mean-token-mean") {
    return refuse(
      key,
      path,
      `it takes means over sequences, and actor.loss_agg_mode is ${aggregation}; nearest: seq-mean-token-mean`,
    );
  }
  const definition = { ...loss, surrogate: guarded(key, path, perTarget(loss.surrogate)) };
  const gradient = await trialGradient(definition, keys).catch((cause) => {
    throw cause instanceof CallError
      ? cause
      : new CallError("refused", `${key}: ${path}: its graph does not run: ${cause.message}`);
  });
  if (!gradient.every(Number.isFinite))
    return refuse(key, path, "its gradient is not finite where the ratio is about 1");
  if (gradient.every((value) => value === 0))
    return refuse(key, path, "its gradient is 0 where the ratio is about 1, so nothing would be trained");
  return definition;
};

/** Loads the modules that the run file names. Throws a `CallError` with code `refused` if one cannot be used. */
export const loadCustomParts = async (keys: LearnerKeys): Promise<CustomParts> => {
  const { custom_estimator: estimatorPath } = keys.algorithm;
  const { custom_loss: lossPath } = keys.actor;
  return {
    ...(estimatorPath === null ? {} : { estimator: await loadEstimator(estimatorPath) }),
    ...(lossPath === null ? {} : { loss: await loadLoss(lossPath, keys) }),
  };
};
