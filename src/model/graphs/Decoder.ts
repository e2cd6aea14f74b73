/**
 * The decoder of every family as a tensor graph, from token ids to final hidden states [tokens, width].
 * Activations stay [tokens, width], so every linear layer is one GEMM. Weights are inputs, so a new version needs no new session.
 * The caller chooses the attention: causal over the rows themselves (`trunk`), or over a cache (Decode.ts).
 */
import { causalAttention } from "../tensor/Attention.ts";
import { add, mul, silu } from "../tensor/Elementwise.ts";
import type { Graph, Tensor } from "../tensor/Graph.ts";
import { gather } from "../tensor/Indexing.ts";
import { reshape, transpose } from "../tensor/Layout.ts";
import { withRecompute } from "../tensor/Recompute.ts";
import { type Dim, product as productOf, ShapeError } from "../tensor/Shape.ts";
import { rmsNorm, rotary } from "../tensor/Transformer.ts";
import {
  type DecoderConfig,
  EMBEDDING,
  FINAL_NORM,
  layerParameter,
  OUTPUT,
  type ParameterSpec,
} from "./Architecture.ts";
import { addAdapter, type Weights } from "./Lora.ts";
import { codesOf, product } from "./NumberFormat.ts";
import { rotation } from "./Rotary.ts";

export type { Weights } from "./Lora.ts";

/** One graph input per parameter, under its name (with an optional prefix, for two models in one graph). */
export const weightInputs = (graph: Graph, specs: readonly ParameterSpec[], prefix = ""): Weights =>
  new Map(specs.map(({ name, shape }) => [name, graph.input(`${prefix}${name}`, "float32", shape)]));

export const weight = (weights: Weights, name: string): Tensor => {
  const tensor = weights.get(name);
  if (tensor === undefined) throw new ShapeError("weight", [], `there is no parameter "${name}"`);
  return tensor;
};

/** Rotated queries [batch, time, heads * headDim], rotated keys and values [batch, time, kvHeads * headDim]. */
export interface Projections {
  readonly layer: number;
  readonly queries: Tensor;
  readonly keys: Tensor;
  readonly values: Tensor;
}

/** Gives the attended values [batch * time, heads * headDim]. */
export type Attend = (projections: Projections) => Tensor;

/**
 * The part that a backward pass recomputes instead of keeping (Korthikanti et al. 2022, section 4).
 * `attention` is the weights of the softmax, as wide as the context; `layers` is everything between the inputs of two blocks.
 */
export type Recompute = "nothing" | "attention" | "layers";

/**
 * All blocks and the final norm: ids [batch, time] with column positions ([batch, time] or [1], as in `rotary`) to hidden states
 * [batch * time, hiddenSize].
 * `selected` int64 [rows], indices into batch * time, restricts the result to those rows; the last block then computes only them after
 * its attention.
 * If layers are recomputed, a backward pass keeps only the input of each block.
 */
export const decoder = (
  config: DecoderConfig,
  weights: Weights,
  ids: Tensor,
  positions: Tensor,
  attend: Attend,
  selected?: Tensor,
  recompute: Recompute = "nothing",
): Tensor => {
  const [batch, time] = ids.shape;
  if (ids.shape.length !== 2 || batch === undefined || time === undefined)
    throw new ShapeError("decoder", [ids.shape], "ids must be [batch, time]");
  const { hiddenSize, headDim, rmsNormEps } = config;
  const tokens = productOf(batch, time);
  const turned = rotation(config, positions, batch, time);
  let x = reshape(gather(weight(weights, EMBEDDING), ids), [tokens, hiddenSize]);
  const block = (layer: number, before: Tensor): Tensor => {
    const layerWeight = (name: string): Tensor => weight(weights, layerParameter(layer, name));
    const linear = (input: Tensor, name: string): Tensor => {
      const bias = weights.get(layerParameter(layer, `${name}.bias`));
      return addAdapter(
        weights,
        layerParameter(layer, name),
        input,
        product(weights, layerParameter(layer, `${name}.weight`), input, bias),
      );
    };
    const split = (y: Tensor): Tensor => reshape(y, [batch, time, -1]);
    const heads = (y: Tensor, norm: string): Tensor => {
      const scale = weights.get(layerParameter(layer, `${norm}.weight`));
      const normed = scale === undefined ? y : rmsNorm(reshape(y, [tokens, -1, headDim]), scale, rmsNormEps);
      return rotary(split(normed), turned.positions, turned.tables);
    };

    const normed = rmsNorm(before, layerWeight("input_layernorm.weight"), rmsNormEps);
    const attended = attend({
      layer,
      queries: heads(linear(normed, "self_attn.q_proj"), "self_attn.q_norm"),
      keys: heads(linear(normed, "self_attn.k_proj"), "self_attn.k_norm"),
      values: split(linear(normed, "self_attn.v_proj")),
    });
    const kept = (y: Tensor): Tensor =>
      selected !== undefined && layer === config.layers - 1 ? gather(y, selected) : y;
    const x = add(kept(before), linear(kept(attended), "self_attn.o_proj"));

    const middle = rmsNorm(x, layerWeight("post_attention_layernorm.weight"), rmsNormEps);
    const gated = mul(silu(linear(middle, "mlp.gate_proj")), linear(middle, "mlp.up_proj"));
    return add(x, linear(gated, "mlp.down_proj"));
  };
  for (let layer = 0; layer < config.layers; layer += 1)
    x = recompute === "layers" ? withRecompute(x, (before) => block(layer, before)) : block(layer, x);
  return rmsNorm(x, weight(weights, FINAL_NORM), rmsNormEps);
};

/** [batch, time, kvHeads * headDim] to [batch, kvHeads, time, headDim]. */
export const splitHeads = (config: DecoderConfig, x: Tensor): Tensor => {
  const [batch, time] = x.shape as [Dim, Dim];
  return transpose(reshape(x, [batch, time, config.kvHeads, config.headDim]), [0, 2, 1, 3]);
};

/** [batch, time, heads * headDim] to [batch, kvHeads, heads / kvHeads, time, headDim]: query head h reads kv head h / groups. */
export const splitQueries = (config: DecoderConfig, x: Tensor): Tensor => {
  const [batch, time] = x.shape as [Dim, Dim];
  const groups = config.heads / config.kvHeads;
  return transpose(reshape(x, [batch, time, config.kvHeads, groups, config.headDim]), [0, 2, 3, 1, 4]);
};

/** The inverse of `splitQueries`, as rows [batch * time, heads * headDim]. */
export const mergeQueries = (config: DecoderConfig, x: Tensor): Tensor => {
  const [batch, , , time] = x.shape as [Dim, Dim, Dim, Dim];
  return reshape(transpose(x, [0, 3, 1, 2, 4]), [productOf(batch, time), config.heads * config.headDim]);
};

/** Blocks of rows in causal attention over whole sequences. */
export const ATTENTION_BLOCKS = 4;

/**
 * The decoder over whole sequences: ids int64 [batch, time], right padded, to hidden states [batch * time, hiddenSize] or the `selected`
 * rows of them. Positions count from the first column; the causal mask keeps padding out of every earlier position.
 */
export const trunk = (
  config: DecoderConfig,
  weights: Weights,
  ids: Tensor,
  selected?: Tensor,
  recompute: Recompute = "nothing",
): Tensor => {
  const attend: Attend = ({ queries, keys, values }) =>
    mergeQueries(
      config,
      causalAttention(splitQueries(config, queries), splitHeads(config, keys), splitHeads(config, values), {
        blocks: ATTENTION_BLOCKS,
        recompute: recompute === "attention",
      }),
    );
  return decoder(config, weights, ids, ids.graph.constant([0], "int64"), attend, selected, recompute);
};

/** The matrix [vocabSize, hiddenSize] that gives the output scores: one of its own, or else the embedding. */
export const outputMatrix = (weights: Weights): Tensor => weights.get(OUTPUT) ?? weight(weights, EMBEDDING);

/** Output scores [rows, vocabSize] of hidden states [rows, hiddenSize]. */
export const logits = (weights: Weights, hidden: Tensor): Tensor =>
  product(weights, weights.has(OUTPUT) || weights.has(codesOf(OUTPUT)) ? OUTPUT : EMBEDDING, hidden);
