/**
 * The part of an update that is not finite: an input of a window, or a part of an optimiser step. Such a step is not applied; an update in
 * which a network applies none is a skipped one.
 */
import { allFinite } from "../model/graphs/finite.ts";

export type NetworkName = "policy" | "critic";

/** The part of an update in which a number was not finite. */
export type NonFinitePart =
  /** Inputs: numbers of the window, and what a network computes from it. */
  | "rewards"
  | "sampled log-probabilities"
  | "values"
  | "advantages"
  | "returns"
  | "importance weights"
  | "log-probabilities"
  | "reference log-probabilities"
  /** Parts of an optimiser step. */
  | "loss"
  | "gradient"
  | "new parameters"
  | "new moments";

/** Names a network that was not trained, and the part that is not finite. */
export interface UntrainedNetwork {
  readonly network: NetworkName;
  readonly notFinite: NonFinitePart;
}

/** Returns the name of the first array that has a number that is not finite; null if all are finite. */
export const firstNonFinite = (...arrays: readonly (readonly [NonFinitePart, Float32Array])[]): NonFinitePart | null =>
  arrays.find(([, values]) => !allFinite(values))?.[0] ?? null;

const windowParts: readonly NonFinitePart[] = ["rewards", "sampled log-probabilities", "advantages", "returns"];

/** Returns a phrase for messages, such as "the policy's gradient" or "the window's rewards". */
export const describeUntrained = ({ network, notFinite }: UntrainedNetwork): string =>
  `the ${windowParts.includes(notFinite) ? "window" : notFinite === "values" ? "critic" : network}'s ${notFinite}`;
