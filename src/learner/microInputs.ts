/**
 * Splits sequences of a batch into the inputs of micro-batches: padded ids [rows, time] and arrays per target, under the names of
 * models.ts. Results per target are scattered back over the batch's positions.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import type { TokenBatch } from "../domain/Batch.ts";
import { gatherTargets, type MicroTargets, microBatches, paddedIds, scatterTargets, targetsOf } from "./batches.ts";
import type { InputArray, MicroInputs } from "./lanes/Lane.ts";
import type { LaneWeights, Pass, Totals } from "./lanes/Lanes.ts";
import { sharedMicroBatches } from "./sharedPrompts.ts";

export const scalar = (value: number): InputArray => ({ data: Float32Array.of(value), dims: [] });

/** Returns the one element of a scalar output. */
export const scalarOf = (data: Float32Array): number => {
  const [value] = data;
  if (value === undefined || data.length !== 1) throw new RangeError(`a scalar output has ${data.length} elements`);
  return value;
};

export interface MicroSplit {
  /** Inputs of each micro-batch. */
  readonly inputs: readonly MicroInputs[];
  /** Writes the results of each micro-batch's targets into `into` [tokens]. Other positions are left unchanged. */
  readonly scatter: (results: readonly Float32Array[], into: Float32Array) => void;
}

/** An input per target: values over the batch's positions [tokens], or a function of the targets. */
export type TargetValues = Float32Array | ((targets: MicroTargets) => BigInt64Array);

/** Keys that decide the split: padded tokens of a micro-batch, and whether sequences share prompts. */
export type SplitOptions = Pick<RunConfig["actor"], "micro_batch_tokens" | "use_prefix_grouper">;

/** Ids of a micro-batch in the form of its model, and its targets. */
interface MicroText {
  readonly text: MicroInputs;
  readonly targets: MicroTargets;
}

const wholeTexts = (batch: TokenBatch, sequences: readonly number[], tokens: number): readonly MicroText[] =>
  microBatches(batch, sequences, tokens).map((micro) => ({
    text: { ids: { data: paddedIds(batch, micro), dims: [micro.sequences.length, micro.time] } },
    targets: targetsOf(batch, micro),
  }));

const sharedTexts = (batch: TokenBatch, sequences: readonly number[], tokens: number): readonly MicroText[] =>
  sharedMicroBatches(batch, sequences, tokens).map(({ ids, lengths, prompts, size, targets, tokens }) => ({
    text: {
      prompts: { data: prompts, dims: [size.groups, size.prompt] },
      lengths: { data: lengths, dims: [size.groups] },
      ids: { data: ids, dims: [size.groups, size.members, size.time] },
      tokens: { data: tokens, dims: [tokens.length] },
    },
    targets,
  }));

/** `arrays` are inputs per target, by name; `sharedInputs` go into every micro-batch unchanged. */
export const splitIntoMicros = (
  batch: TokenBatch,
  sequences: readonly number[],
  { micro_batch_tokens, use_prefix_grouper }: SplitOptions,
  arrays: Readonly<Record<string, TargetValues>> = {},
  sharedInputs: MicroInputs = {},
): MicroSplit => {
  const texts = (use_prefix_grouper ? sharedTexts : wholeTexts)(batch, sequences, micro_batch_tokens);
  const inputs = ({ targets, text }: MicroText): MicroInputs => {
    const dims = [targets.before.length];
    const perTarget = Object.entries(arrays).map(([name, values]) => [
      name,
      { data: typeof values === "function" ? values(targets) : gatherTargets(targets, values), dims },
    ]);
    return {
      ...text,
      before: { data: targets.before, dims },
      ...Object.fromEntries(perTarget),
      ...sharedInputs,
    };
  };
  return {
    inputs: texts.map(inputs),
    scatter: (results, into) => {
      for (const [i, { targets }] of texts.entries()) {
        const result = results[i];
        if (result === undefined) throw new RangeError(`there is no result for micro-batch ${i}`);
        scatterTargets(targets, result, into);
      }
    },
  };
};

/** Runs `pass` over the micro-batches and writes its output `row` over the positions of `into` [tokens]. Resolves to its totals. */
export const runInto = async <Sum extends string, Row extends string>(
  pass: Pass<Sum, Row>,
  weights: LaneWeights,
  { inputs: micros, scatter }: MicroSplit,
  row: Row,
  into: Float32Array,
): Promise<Totals<Sum> | null> => {
  const { rows, totals } = await pass.run(weights, micros);
  scatter(
    rows.map((result) => result[row]),
    into,
  );
  return totals;
};
