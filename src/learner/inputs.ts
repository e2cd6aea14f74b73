/**
 * Sequences of a batch as micro-batches that a model can run: padded ids [rows, time], the place before each target and what the batch
 * says of it [targets], under the names that models.ts gives them. Results per target go back over the batch's positions.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import type { TokenBatch } from "../domain/Batch.ts";
import { gatherTargets, type MicroTargets, microBatches, paddedIds, scatterTargets, targetsOf } from "./batches.ts";
import type { Input, Micro } from "./lanes/Lane.ts";
import type { LaneWeights, Pass, Totals } from "./lanes/Lanes.ts";
import { sharedMicroBatches } from "./sharedPrompts.ts";

export const scalar = (value: number): Input => ({ data: Float32Array.of(value), dims: [] });

/** The one element of a scalar output. */
export const scalarOf = (data: Float32Array): number => {
  const [value] = data;
  if (value === undefined || data.length !== 1) throw new RangeError(`a scalar output has ${data.length} elements`);
  return value;
};

export interface MicroInputs {
  /** One for each micro-batch. */
  readonly micros: readonly Micro[];
  /** Writes results of each micro-batch's targets over the positions of `into` [tokens]; other positions are left alone. */
  readonly scatter: (results: readonly Float32Array[], into: Float32Array) => void;
}

/** What an input says of each target: values over positions, [tokens], or what is made of the targets themselves. */
export type OfTargets = Float32Array | ((targets: MicroTargets) => BigInt64Array);

/** How a mini-batch is cut: padded tokens of a micro-batch, and whether its sequences share prompts. */
export type Cutting = Pick<RunConfig["actor"], "micro_batch_tokens" | "use_prefix_grouper">;

/** The ids of a micro-batch, as its model takes them, and what it predicts. */
interface Text {
  readonly text: Micro;
  readonly targets: MicroTargets;
}

const wholeTexts = (batch: TokenBatch, sequences: readonly number[], tokens: number): readonly Text[] =>
  microBatches(batch, sequences, tokens).map((micro) => ({
    text: { ids: { data: paddedIds(batch, micro), dims: [micro.sequences.length, micro.time] } },
    targets: targetsOf(batch, micro),
  }));

const sharedTexts = (batch: TokenBatch, sequences: readonly number[], tokens: number): readonly Text[] =>
  sharedMicroBatches(batch, sequences, tokens).map(({ ids, lengths, prompts, size, targets, tokens }) => ({
    text: {
      prompts: { data: prompts, dims: [size.groups, size.prompt] },
      lengths: { data: lengths, dims: [size.groups] },
      ids: { data: ids, dims: [size.groups, size.members, size.time] },
      tokens: { data: tokens, dims: [tokens.length] },
    },
    targets,
  }));

/** `arrays` are per target, by name; `more` goes into every micro-batch as it is. */
export const microInputs = (
  batch: TokenBatch,
  sequences: readonly number[],
  { micro_batch_tokens, use_prefix_grouper }: Cutting,
  arrays: Readonly<Record<string, OfTargets>> = {},
  more: Micro = {},
): MicroInputs => {
  const cut = (use_prefix_grouper ? sharedTexts : wholeTexts)(batch, sequences, micro_batch_tokens);
  const inputs = ({ targets, text }: Text): Micro => {
    const dims = [targets.before.length];
    const perTarget = Object.entries(arrays).map(([name, values]) => [
      name,
      { data: typeof values === "function" ? values(targets) : gatherTargets(targets, values), dims },
    ]);
    return {
      ...text,
      before: { data: targets.before, dims },
      ...Object.fromEntries(perTarget),
      ...more,
    };
  };
  return {
    micros: cut.map(inputs),
    scatter: (results, into) => {
      for (const [i, { targets }] of cut.entries()) {
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
  { micros, scatter }: MicroInputs,
  row: Row,
  into: Float32Array,
): Promise<Totals<Sum> | null> => {
  const { rows, totals } = await pass.run(weights, micros);
  scatter(
    rows.map((each) => each[row]),
    into,
  );
  return totals;
};
