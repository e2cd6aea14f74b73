/**
 * A decoder-only model as the generator uses it: from rows of new tokens over cached keys and values to the logits of each row's last
 * new token and the new keys and values. Invariant: with two rows or more, a row's results do not depend on the other rows.
 */
import type { Version } from "../domain/Episode.ts";
import type { Payload, Versions } from "../model/weights/Weights.ts";
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

/** Results: logits [rows, vocab]; keys and values [rows, kvHeads, time, headDim] per layer. */
export interface ModelOutputs extends KeysAndValues {
  readonly logits: Float32Array;
}

interface GenerationModel<Weights> {
  readonly shape: ModelShape;
  readonly versions: Versions;
  /** Makes weights of a payload without copying it. Throws a RangeError where its kind or size is wrong. */
  readonly weights: (version: Version, payload: Payload) => Weights;
  /** Told of weights that are not used any more. */
  readonly forget?: (weights: Weights) => void;
  readonly close: () => Promise<void>;
}

/** One whose caches are on its device. */
export interface ResidentModel<Weights> extends GenerationModel<Weights> {
  /** With caches of its own for `slots` sequences. Called once. */
  readonly sequences: (slots: number) => SequenceModel<Weights>;
}

export type GeneratorModel<Weights> = LanguageModel<Weights> | ResidentModel<Weights>;

/** One whose caches are in host memory, its caller's. */
export interface LanguageModel<Weights> extends GenerationModel<Weights> {
  /** Rows without a past. */
  readonly prefill: (weights: Weights, tokens: NewTokens) => Promise<ModelOutputs>;
  /** Rows with pasts; every past plus `time` fits the cache. */
  readonly extend: (
    weights: Weights,
    tokens: NewTokens,
    past: CacheView,
    pastLengths: BigInt64Array,
  ) => Promise<ModelOutputs>;
  /** One new token per row [rows]; every past is shorter than the cache. */
  readonly step: (
    weights: Weights,
    ids: BigInt64Array,
    past: CacheView,
    pastLengths: BigInt64Array,
  ) => Promise<ModelOutputs>;
}
