/**
 * What of an update is not finite: the first input of a window, or the part of an optimiser step, that no number can be trained from.
 * Such a step is not applied; an update in which a network could apply none is a skipped one.
 */
import { allFinite } from "../model/graphs/finite.ts";

export type NetworkName = "policy" | "critic";

export type NonFinitePart =
  /** A number of the window, or what a network makes of it. */
  | "rewards"
  | "sampled log-probabilities"
  | "values"
  | "advantages"
  | "returns"
  | "importance weights"
  | "log-probabilities"
  | "reference log-probabilities"
  /** A part of an optimiser step. */
  | "loss"
  | "gradient"
  | "new parameters"
  | "new moments";

/** Why a network was not trained. */
export interface UntrainedNetwork {
  readonly network: NetworkName;
  readonly notFinite: NonFinitePart;
}

/** The first of some arrays with a number that is not finite; null where all are. */
export const firstNonFinite = (...arrays: readonly (readonly [NonFinitePart, Float32Array])[]): NonFinitePart | null =>
  arrays.find(([, values]) => !allFinite(values))?.[0] ?? null;

const windowParts: readonly NonFinitePart[] = ["rewards", "sampled log-probabilities", "advantages", "returns"];

/** "the policy's gradient", "the window's rewards" */
export const describeUntrained = ({ network, notFinite }: UntrainedNetwork): string =>
  `the ${windowParts.includes(notFinite) ? "window" : notFinite === "values" ? "critic" : network}'s ${notFinite}`;
