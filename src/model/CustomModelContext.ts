/** The view that a policy or a learner of the user's own has of the run's model. */
import type { RunConfig } from "../config/RunConfig.ts";
import { namedTensors, type Parameters } from "./graphs/Parameters.ts";
import type { Model } from "./Model.ts";

/** Trained parameters by name, each flat in row-major order. */
export type ModelWeights = ReadonlyMap<string, Float32Array>;

/** The run that a policy or a learner of the user's own works for. */
export interface CustomModelContext {
  readonly config: RunConfig;
  /** Returns the ids of a text under the run's tokenizer. */
  readonly encode: (text: string) => Int32Array;
  readonly decode: (ids: Iterable<number>) => string;
  /** Ids that end a reply. */
  readonly stopIds: readonly number[];
}

/** The text of whatever a function of the user's threw. */
export const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

export const weightsOf = (parameters: Parameters): ModelWeights =>
  new Map(namedTensors(parameters).map(({ name, values }) => [name, values]));

export const contextOf = (config: RunConfig, { stopIds, tokenizer }: Model): CustomModelContext => ({
  config,
  encode: tokenizer.encode,
  decode: tokenizer.decode,
  stopIds,
});
