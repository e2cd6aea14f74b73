/**
 * What goes to a Tinker server to be passed through its model, and what comes back. A datum is one sequence: its ids but the last, and for each
 * of them the id that follows as a target, with what the loss says of it. Pure.
 */
import { Result } from "effect";

export type LossName = "cross_entropy" | "importance_sampling" | "ppo";

export interface Datum {
  readonly tokens: Int32Array;
  /** Integers (`target_tokens`) and numbers, each one a token. */
  readonly tensors: Readonly<Record<string, Int32Array | Float32Array>>;
}

/** One pass over the data: forwards, and (unless `forwardOnly`) backwards, which adds to the gradient. */
export interface PassRequest {
  readonly modelId: string;
  readonly sequence: number;
  readonly data: readonly Datum[];
  readonly loss: LossName;
  readonly config?: Readonly<Record<string, number>>;
  readonly forwardOnly: boolean;
}

export interface PassOutput {
  /** What the loss names, of each datum and token. A number that the server could not say is NaN. */
  readonly fields: ReadonlyMap<string, readonly Float32Array[]>;
  readonly metrics: ReadonlyMap<string, number>;
}

/** The sequence `ids` as a datum, without what a loss says of it. */
export const datumOf = (ids: Int32Array, tensors: Datum["tensors"] = {}): Datum => ({
  tokens: ids.subarray(0, ids.length - 1),
  tensors: { target_tokens: ids.subarray(1), ...tensors },
});

/** Log-probabilities above this are none; servers compute in numbers of few digits. */
const mostLogp = 1e-2;

/** One field of every datum, as long as its targets. */
export const fieldOf = (
  output: PassOutput,
  name: string,
  data: readonly Datum[],
): Result.Result<readonly Float32Array[], string> => {
  const found = output.fields.get(name);
  if (found === undefined) return Result.fail(`the result has no ${name}`);
  if (found.length !== data.length)
    return Result.fail(`the result is of ${found.length} sequences, not ${data.length}`);
  const other = found.findIndex((values, i) => values.length !== data[i]?.tokens.length);
  if (other !== -1) {
    return Result.fail(
      `${name} of sequence ${other} has ${found[other]?.length} values for ${data[other]?.tokens.length} tokens`,
    );
  }
  return Result.succeed(found);
};

/** The log-probability of every target. What is not finite stays so, and is the trainer's to see. */
export const logprobsOf = (
  output: PassOutput,
  data: readonly Datum[],
): Result.Result<readonly Float32Array[], string> => {
  const found = fieldOf(output, "logprobs", data);
  if (Result.isFailure(found)) return found;
  const above = found.success.flatMap((values) => [...values]).find((value) => value > mostLogp);
  return above === undefined ? found : Result.fail(`${above} is no log-probability`);
};
