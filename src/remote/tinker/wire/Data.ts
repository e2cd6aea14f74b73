/**
 * The data of passes through a model on a Tinker server, and their outputs. A datum is one sequence: its ids except the last, the following
 * id of each as its target, and the inputs of the loss.
 */
import { Result } from "effect";

export type LossName = "cross_entropy" | "importance_sampling" | "ppo";

export interface Datum {
  readonly tokens: Int32Array;
  /** Integers (`target_tokens`) and floats, one for each token. */
  readonly tensors: Readonly<Record<string, Int32Array | Float32Array>>;
}

/** A pass over the data: forward, and unless `forwardOnly` backward, which adds to the gradient. */
export interface PassRequest {
  readonly modelId: string;
  readonly sequence: number;
  readonly data: readonly Datum[];
  readonly loss: LossName;
  readonly config?: Readonly<Record<string, number>>;
  readonly forwardOnly: boolean;
}

export interface PassOutput {
  /** Outputs of the loss by name, for each datum and token. NaN stands for numbers that JSON cannot express. */
  readonly fields: ReadonlyMap<string, readonly Float32Array[]>;
  readonly metrics: ReadonlyMap<string, number>;
}

/** Makes a datum of the sequence `ids`; `tensors` are the inputs of the loss. */
export const datumOf = (ids: Int32Array, tensors: Datum["tensors"] = {}): Datum => ({
  tokens: ids.subarray(0, ids.length - 1),
  tensors: { target_tokens: ids.subarray(1), ...tensors },
});

/** Largest value that counts as a log-probability; servers compute in low precision. */
const MOST_LOGP = 1e-2;

/** Returns one field of every datum, with one value for each target. */
export const fieldOf = (
  output: PassOutput,
  name: string,
  data: readonly Datum[],
): Result.Result<readonly Float32Array[], string> => {
  const values = output.fields.get(name);
  if (values === undefined) return Result.fail(`the result has no ${name}`);
  if (values.length !== data.length)
    return Result.fail(`the result is of ${values.length} sequences, not ${data.length}`);
  const other = values.findIndex((field, i) => field.length !== data[i]?.tokens.length);
  if (other !== -1) {
    return Result.fail(
      `${name} of sequence ${other} has ${values[other]?.length} values for ${data[other]?.tokens.length} tokens`,
    );
  }
  return Result.succeed(values);
};

/** Returns the log-probability of every target. Values that are not finite stay so; the trainer detects them. */
export const logprobsOf = (
  output: PassOutput,
  data: readonly Datum[],
): Result.Result<readonly Float32Array[], string> => {
  const logprobs = fieldOf(output, "logprobs", data);
  if (Result.isFailure(logprobs)) return logprobs;
  const above = logprobs.success.flatMap((values) => [...values]).find((value) => value > MOST_LOGP);
  return above === undefined ? logprobs : Result.fail(`${above} is no log-probability`);
};
