/** A sample of a Tinker server, and its checks. Invariant: a checked sample has a finite log-probability for every token. */
import { Result } from "effect";
import type { Finish } from "../../../domain/Episode.ts";

export interface SampledSequence {
  readonly finish: Finish;
  readonly tokens: Int32Array;
  /** Null if the server sent none. */
  readonly logprobs: Float32Array | null;
}

export interface SampleOutput {
  readonly sequences: readonly SampledSequence[];
  /** Log-probabilities of the prompt's tokens, NaN if one has none; null if they were not requested. */
  readonly promptLogprobs: Float32Array | null;
}

export interface CheckedSequence extends SampledSequence {
  readonly logprobs: Float32Array;
}

/** Largest value that counts as a log-probability; servers compute in low precision. */
const MOST_LOGP = 1e-2;

/** Returns the requested sequence, or what is wrong with the sample. */
export const checkSample = (
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
  const wrong = logprobs.find((value) => !(Number.isFinite(value) && value <= MOST_LOGP));
  if (wrong !== undefined) return Result.fail(`${wrong} is no log-probability`);
  return Result.succeed({ finish, tokens, logprobs });
};

/**
 * Returns the log-probability of every id of `ids` except the first. Servers return one for each token, the first undefined, or leave that
 * first one out.
 */
export const checkPromptLogprobs = (
  { promptLogprobs }: SampleOutput,
  ids: Int32Array,
): Result.Result<Float32Array, string> => {
  if (promptLogprobs === null) return Result.fail("the result has no prompt_logprobs");
  const targets = ids.length - 1;
  if (promptLogprobs.length !== targets && promptLogprobs.length !== targets + 1) {
    return Result.fail(`${promptLogprobs.length} prompt_logprobs came for ${ids.length} tokens`);
  }
  const values = promptLogprobs.subarray(promptLogprobs.length - targets);
  const wrong = values.find((value) => !(Number.isFinite(value) && value <= MOST_LOGP));
  return wrong === undefined ? Result.succeed(values) : Result.fail(`${wrong} is no log-probability`);
};
