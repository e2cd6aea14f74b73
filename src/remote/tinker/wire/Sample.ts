/** What a Tinker server samples, and what of it can be used. Pure. Invariant: a checked sample has a finite log-probability for every token. */
import { Result } from "effect";
import type { Finish } from "../../../domain/Episode.ts";

export interface SampledSequence {
  readonly finish: Finish;
  readonly tokens: Int32Array;
  /** Null where the server sent none. */
  readonly logprobs: Float32Array | null;
}

export interface SampleOutput {
  readonly sequences: readonly SampledSequence[];
  /** Of the prompt's tokens, NaN where there is none; null where they were not asked for. */
  readonly promptLogprobs: Float32Array | null;
}

export interface CheckedSequence extends SampledSequence {
  readonly logprobs: Float32Array;
}

/** Log-probabilities above this are none; servers compute in numbers of few digits. */
const mostLogp = 1e-2;

/** The one sequence that was asked for. */
export const checked = (
  { sequences }: SampleOutput,
  { maxTokens, vocabSize }: { readonly maxTokens: number; readonly vocabSize: number },
): Result.Result<CheckedSequence, string> => {
  const [sequence] = sequences;
  if (sequence === undefined || sequences.length !== 1) {
    return Result.fail(`the result has ${sequences.length} sequences, not 1`);
  }
  const { finish, logprobs, tokens } = sequence;
  if (tokens.length > maxTokens) return Result.fail(`${tokens.length} tokens came, ${maxTokens} were asked for`);
  if (tokens.length === 0) return Result.fail("no token came");
  const foreign = tokens.find((id) => id < 0 || id >= vocabSize);
  if (foreign !== undefined) return Result.fail(`id ${foreign} is outside the vocabulary of ${vocabSize}`);
  if (logprobs?.length !== tokens.length) {
    return Result.fail(`${tokens.length} tokens have ${logprobs?.length ?? 0} log-probabilities`);
  }
  const wrong = logprobs.find((value) => !(Number.isFinite(value) && value <= mostLogp));
  if (wrong !== undefined) return Result.fail(`${wrong} is no log-probability`);
  return Result.succeed({ finish, tokens, logprobs });
};

/**
 * The log-probability of every id of `ids` but the first, out of what came of its prompt: one a token, the first undefined, or without that
 * first one.
 */
export const promptLogprobs = (
  { promptLogprobs: found }: SampleOutput,
  ids: Int32Array,
): Result.Result<Float32Array, string> => {
  if (found === null) return Result.fail("the result has no prompt_logprobs");
  const targets = ids.length - 1;
  if (found.length !== targets && found.length !== targets + 1) {
    return Result.fail(`${found.length} prompt_logprobs came for ${ids.length} tokens`);
  }
  const values = found.subarray(found.length - targets);
  const wrong = values.find((value) => !(Number.isFinite(value) && value <= mostLogp));
  return wrong === undefined ? Result.succeed(values) : Result.fail(`${wrong} is no log-probability`);
};
