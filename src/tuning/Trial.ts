/**
 * A trial of one change: the paces of some blocks under it, held against those before. It ends as soon as the noise allows, and a change that
 * has not shown that it pays does not stay.
 */
import * as Paces from "./Paces.ts";
import type { Proposal } from "./Proposal.ts";

export interface Trial {
  readonly proposal: Proposal;
  readonly before: Paces.Paces;
  /** Blocks before this time still show the change taking hold. */
  readonly settled: number;
  readonly paces: readonly number[];
}

export type Verdict =
  | { readonly _tag: "Undecided" }
  | { readonly _tag: "Pays" | "DoesNotPay"; readonly gain: number; readonly error: number };

/** Blocks of a trial, fewest and most. */
const FEWEST = 3;
const MOST = 10;
/** A change must gain this share. */
export const PAYS = 0.03;
/** A loss that needs no further block. */
const AWFUL = -0.3;

export const verdict = ({ before, paces }: Trial): Verdict => {
  const after = Paces.of(paces);
  const { error, gain } = Paces.change(before, after);
  if (paces.length >= 2 && gain < AWFUL && gain + 2 * error < 0) return { _tag: "DoesNotPay", gain, error };
  if (paces.length < FEWEST) return { _tag: "Undecided" };
  if (gain - 2 * error > PAYS) return { _tag: "Pays", gain, error };
  if (gain + error < PAYS) return { _tag: "DoesNotPay", gain, error };
  if (paces.length < MOST) return { _tag: "Undecided" };
  return { _tag: gain - error > 0 && gain > PAYS ? "Pays" : "DoesNotPay", gain, error };
};
