/**
 * Continuations scored behind prompts, each behind every one: what the diagnostics ask of a learner. A row is a continuation, a column a
 * prompt.
 */
import type { Version } from "./Episode.ts";
import { bucket } from "./Passes.ts";

export interface CrossRequest {
  readonly prompts: readonly Int32Array[];
  /** None of them empty. */
  readonly continuations: readonly Int32Array[];
  /** The policy is evaluated at it; above 0. */
  readonly temperature: number;
  /** Tokens of one pass through the model, padding included; a pass takes one prompt and one continuation at least. */
  readonly passTokens: number;
  /** Ends after the pass under way as soon as the learner is asked for anything that belongs to an update. */
  readonly givesWay: boolean;
}

/** The rows that were finished, all under one version of the weights. */
export interface CrossScores {
  /** The number of continuations scored, the first ones. */
  readonly rows: number;
  /** Log-probability of a continuation behind a prompt, nats, summed over its ids: [rows, prompts], row by row. */
  readonly sums: Float64Array;
  readonly version: Version;
  /** Seconds in which passes ran. */
  readonly seconds: number;
}

/** Continuations [from, to) that are scored together: each of the passes that make their rows has all of them behind one prompt. */
export type Block = readonly [from: number, to: number];

/** Cuts the continuations, by their lengths and in their order, into blocks whose passes stay within `passTokens`, or hold one each. */
export const blocksOf = (
  prompts: readonly number[],
  continuations: readonly number[],
  passTokens: number,
): readonly Block[] => {
  const room = passTokens - Math.max(0, ...prompts);
  const blocks: Block[] = [];
  let from = 0;
  let filled = 0;
  for (const [i, length] of continuations.entries()) {
    if (i > from && filled + length > room) {
      blocks.push([from, i]);
      from = i;
      filled = 0;
    }
    filled += length;
  }
  if (from < continuations.length) blocks.push([from, continuations.length]);
  return blocks;
};

/** Tokens that go through the model, padding included, to score continuations of these lengths behind prompts of those. */
export const crossTokens = (prompts: readonly number[], continuations: readonly number[], passTokens: number): number =>
  blocksOf(prompts, continuations, passTokens)
    .map((block) => continuations.slice(...block).reduce((sum, length) => sum + length, 0))
    .flatMap((filled) => prompts.map((length) => bucket(length + filled)))
    .reduce((sum, tokens) => sum + tokens, 0);
