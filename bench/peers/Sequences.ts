/**
 * Sequences of a generator for the benches of this folder, numbered so that none is used twice. Replies are sampled from the softmax at a
 * temperature, behind a cached prompt.
 */
import { Effect } from "effect";
import type { Generator } from "../../src/generation/Generator.ts";

export interface Turn {
  /** Ids that come before the reply. */
  readonly append: readonly number[];
  /** Ids that the reply has at most. */
  readonly tokens: number;
  /** First ids of `append` that other sequences begin with, too, and that are fed once for all; default 0. */
  readonly sharedPrefix?: number;
}

export class Sequences {
  readonly #generator: Generator;
  #next = 0;

  constructor(generator: Generator) {
    this.#generator = generator;
  }

  /** Returns the number of the first of `count` new sequences. */
  open(count: number): number {
    this.#next += count;
    return this.#next - count;
  }

  reply(sequence: number, turn: number, { append, sharedPrefix = 0, tokens }: Turn, temperature = 1) {
    return this.#generator.generate({
      sequence,
      append: Int32Array.from(append),
      sharedPrefix,
      maxTokens: tokens,
      sampling: { temperature, topK: -1, topP: 1 },
      key: { seed: 1, purpose: "sampling", counters: [sequence, turn] },
      pin: null,
    });
  }

  /** Samples replies of the sequences from `first` on, one for each turn and all at once. */
  replies(first: number, turn: number, turns: readonly Turn[]) {
    return inParallel(turns.length, (row) => this.reply(first + row, turn, turns[row]!));
  }

  async release(first: number, count: number): Promise<void> {
    await inParallel(count, (row) => this.#generator.release(first + row));
  }
}

/** Runs `work` for the rows 0 to `count` - 1 at once. */
export const inParallel = <A, E>(count: number, work: (row: number) => Effect.Effect<A, E>): Promise<readonly A[]> =>
  Effect.runPromise(
    Effect.forEach(
      Array.from({ length: count }, (_, row) => row),
      work,
      { concurrency: "unbounded" },
    ),
  );

/** Times prompts with their first tokens, then `tokens` further ones of each behind the cached prompts. */
export const prefillAndDecode = async (
  sequences: Sequences,
  prompts: readonly (readonly number[])[],
  tokens: number,
) => {
  const first = sequences.open(prompts.length);
  const start = performance.now();
  const replies = (turn: number, appends: readonly (readonly number[])[], count: number) =>
    sequences.replies(
      first,
      turn,
      appends.map((append) => ({ append, tokens: count })),
    );
  await replies(1, prompts, 1);
  const prefilled = performance.now();
  // The id behind a cached prompt is fed, so that the reply's first token takes a step of decoding, too.
  const next = prompts.map(() => [5]);
  if (tokens > 0) await replies(2, next, tokens);
  const end = performance.now();
  await sequences.release(first, prompts.length);
  return { prefillMs: prefilled - start, decodeMs: end - prefilled };
};
