/**
 * A decoder-only model as the generator uses it. From new tokens over cached keys and values it computes the logits of each row's last
 * token and new keys and values. Invariant: with `leastStepRows` rows or more in a step, a row's results do not depend on the other rows.
 */
import type { Version } from "../domain/Episode.ts";
import type { Payload, VersionSupport } from "../model/weights/Weights.ts";
import type { CacheShape, CacheView, KeysAndValues } from "./KeyValueCache.ts";
import type { SequenceModel } from "./SequenceModel.ts";

export interface ModelShape extends CacheShape {
  readonly vocabSize: number;
  readonly maxPositions: number;
}

/** New tokens [rows, time], right padded. */
export interface NewTokens {
  readonly ids: BigInt64Array;
  readonly time: number;
  /** Valid tokens of each row, at least 1, [rows]. */
  readonly lengths: BigInt64Array;
}

/** Logits [rows, vocab]; keys and values [rows, kvHeads, time, headDim] per layer. */
export interface ModelOutputs extends KeysAndValues {
  readonly logits: Float32Array;
}

interface GenerationModel<Weights> {
  readonly shape: ModelShape;
  readonly versions: VersionSupport;
  /** Makes a version's weights of a payload without copying it. Throws a RangeError if its kind or size is wrong. */
  readonly weights: (version: Version, payload: Payload) => Weights;
  /** Is called with weights that are no longer used. */
  readonly forget?: (weights: Weights) => void;
  readonly close: () => Promise<void>;
}

/** A model that keeps its caches on its device. */
export interface ResidentModel<Weights> extends GenerationModel<Weights> {
  /** Opens the caches for `slots` sequences. It is called once. */
  readonly sequences: (slots: number) => SequenceModel<Weights>;
}

export type GeneratorModel<Weights> = LanguageModel<Weights> | ResidentModel<Weights>;

/** A model whose caller keeps the caches, in host memory. */
export interface LanguageModel<Weights> extends GenerationModel<Weights> {
  /** Rows that a step must have at least; with fewer, a row's bits differ. */
  readonly leastStepRows: number;
  /** Feeds rows without cached tokens. */
  readonly prefill: (weights: Weights, tokens: NewTokens) => Promise<ModelOutputs>;
  /** Feeds rows after cached tokens. The cache must fit every past length plus `time`. */
  readonly extend: (
    weights: Weights,
    tokens: NewTokens,
    past: CacheView,
    pastLengths: BigInt64Array,
  ) => Promise<ModelOutputs>;
  /** Feeds one new token per row [rows]. Every past length must be below the cache's capacity. The next step overwrites the outputs. */
  readonly step: (
    weights: Weights,
    ids: BigInt64Array,
    past: CacheView,
    pastLengths: BigInt64Array,
  ) => Promise<ModelOutputs>;
}
