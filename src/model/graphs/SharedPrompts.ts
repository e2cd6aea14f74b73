/**
 * The decoder over prompts and their continuations, with each prompt computed once (Liu et al. 2025, "Prefix Grouper").
 * The sequences of a group begin with the same text.
 * Invariant: a continuation's hidden states are those of the whole sequence, prompt and continuation in a row.
 */
import { causalAttention, sharedAttention } from "../tensor/Attention.ts";
import { add, minimum } from "../tensor/Elementwise.ts";
import type { Graph, Tensor } from "../tensor/Graph.ts";
import { iota } from "../tensor/Indexing.ts";
import { concat, expand, reshape, slice } from "../tensor/Layout.ts";
import { type Dim, product, sum } from "../tensor/Shape.ts";
import type { DecoderConfig } from "./Architecture.ts";
import {
  ATTENTION_BLOCKS,
  type Attend,
  decoder,
  mergeQueries,
  type Recompute,
  splitHeads,
  splitQueries,
  type Weights,
} from "./Decoder.ts";

/** Right padded ids; rows are prompts first, then continuations: groups * prompt + groups * members * time in all. */
export interface SharedPrompts {
  /** int64 [groups, prompt] */
  readonly prompts: Tensor;
  /** Positions of each prompt that are no padding, at least 1: int64 [groups]. */
  readonly lengths: Tensor;
  /** Continuations of each prompt, int64 [groups, members, time]. */
  readonly ids: Tensor;
}

export const sharedPromptInputs = (graph: Graph): SharedPrompts => ({
  prompts: graph.input("prompts", "int64", ["groups", "prompt"]),
  lengths: graph.input("lengths", "int64", ["groups"]),
  ids: graph.input("ids", "int64", ["groups", "members", "time"]),
});

const attendWithPrompts = (
  config: DecoderConfig,
  { ids, lengths, prompts }: SharedPrompts,
  recompute: boolean,
): Attend => {
  const options = { blocks: ATTENTION_BLOCKS, recompute };
  const [groups, prompt] = prompts.shape as [Dim, Dim];
  const [, members, time] = ids.shape as [Dim, Dim, Dim];
  const { headDim, kvHeads } = config;
  const promptRows = product(groups, prompt);
  const rowCount = sum(promptRows, product(groups, members, time));
  const queryGroups = config.heads / kvHeads;
  return ({ keys, queries, values }) => {
    const ofPrompts = (x: Tensor): Tensor => reshape(slice(x, 0, 0, promptRows), [groups, prompt, -1]);
    const ofOthers = (x: Tensor): Tensor => slice(x, 0, promptRows, rowCount);
    const keysOf = (x: Tensor): Tensor => reshape(ofOthers(x), [groups, members, time, kvHeads, headDim]);
    const promptKeys = (x: Tensor): Tensor => reshape(ofPrompts(x), [groups, prompt, kvHeads, headDim]);
    const before = causalAttention(
      splitQueries(config, ofPrompts(queries)),
      splitHeads(config, ofPrompts(keys)),
      splitHeads(config, ofPrompts(values)),
      options,
    );
    const behind = sharedAttention(
      {
        q: reshape(ofOthers(queries), [groups, members, time, kvHeads, queryGroups, headDim]),
        k: keysOf(keys),
        v: keysOf(values),
      },
      { k: promptKeys(keys), v: promptKeys(values), lengths },
      options,
    );
    const width = config.heads * headDim;
    return concat([mergeQueries(config, before), reshape(behind, [product(groups, members, time), width])], 0);
  };
};

/** Returns the decoder's hidden states of the `selected` rows, [selected, hiddenSize]. */
export const sharedTrunk = (
  config: DecoderConfig,
  weights: Weights,
  text: SharedPrompts,
  selected: Tensor,
  recompute: Recompute = "nothing",
): Tensor => {
  const { ids, lengths, prompts } = text;
  const { graph } = ids;
  const [groups, prompt] = prompts.shape as [Dim, Dim];
  const [, members, time] = ids.shape as [Dim, Dim, Dim];
  const inARow = (promptPart: Tensor, behind: Tensor): Tensor =>
    concat([reshape(promptPart, [-1, 1]), reshape(behind, [-1, 1])], 0);
  const first = expand(reshape(iota(graph, prompt), [1, prompt]), [groups, prompt]);
  // padding may lie behind the last position that there is
  const next = minimum(
    add(reshape(lengths, [groups, 1, 1]), reshape(iota(graph, time), [1, 1, time])),
    graph.constant(config.maxPositions - 1, "int64"),
  );
  const positions = inARow(first, expand(next, [groups, members, time]));
  return decoder(
    config,
    weights,
    inARow(prompts, ids),
    positions,
    attendWithPrompts(config, text, recompute === "attention"),
    selected,
    recompute,
  );
};
