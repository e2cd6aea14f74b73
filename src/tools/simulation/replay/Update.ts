/** Cuts an update into passes, and says how long lanes that share it take. Its unit is padded tokens, since no time is known yet. */
import { passesOf } from "../../../domain/Passes.ts";
import { lengthsOf, type PlayedGroup } from "./Played.ts";

export interface Cut {
  /** Token sequences of an optimiser step. */
  readonly miniBatch: number;
  readonly microBatchTokens: number;
}

/** Padded tokens of each pass of one optimiser step. */
export type Step = readonly number[];

/** The optimiser steps of an update on kept groups. Token sequences are dealt to them in turn: in a run they are shuffled. */
export const stepsOf = (kept: readonly PlayedGroup[], { microBatchTokens, miniBatch }: Cut): readonly Step[] => {
  const lengths = kept
    .flatMap(({ episodes }) => episodes)
    .flatMap(lengthsOf)
    .filter((length) => length > 0);
  const count = Math.ceil(lengths.length / miniBatch);
  return Array.from({ length: count }, (_, step) =>
    passesOf(
      lengths.filter((_, i) => i % count === step),
      microBatchTokens,
    ).map(({ rows, time }) => rows.length * time),
  );
};

/** Lanes that have something to do: where a step has fewer passes than there are lanes, some have none. */
export const lanesUsed = (lanes: number, step: Step): number => Math.max(1, Math.min(lanes, step.length));

/** Padded tokens of the lane that is done last, where each takes the next pass as soon as it is free. */
export const longest = (step: Step, lanes: number): number => {
  const laneTokens = Array.from({ length: lanesUsed(lanes, step) }, () => 0);
  for (const tokens of step) laneTokens[laneTokens.indexOf(Math.min(...laneTokens))]! += tokens;
  return Math.max(...laneTokens);
};
