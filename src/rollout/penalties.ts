/**
 * The penalties of a turn: RAGEN's format penalty, and those of its pull request 160, which cost nothing by default. Pure. Invariant: their
 * sum is the turn's penalty.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import type { Penalties } from "../domain/Episode.ts";
import type { ParsedReply } from "./parse.ts";

export type PenaltyKeys = Pick<
  RunConfig["es_manager"],
  | "format_penalty"
  | "step_penalty"
  | "think_quality_penalty"
  | "think_len_penalty"
  | "think_len_limit"
  | "think_coord_fmt_penalty"
>;

/** True if a penalty other than the format's costs something. */
export const hasExtraPenalties = ({
  step_penalty,
  think_coord_fmt_penalty,
  think_len_penalty,
  think_quality_penalty,
}: PenaltyKeys): boolean => step_penalty + think_coord_fmt_penalty + think_len_penalty + think_quality_penalty > 0;

/** Fewer characters are no thought. */
const leastThought = 10;
const coordinates = /^\s*Player:\s*\(\d+,\s*\d+\)/;

export interface PenaltyInput {
  readonly reading: ParsedReply;
  /** An action was unknown or missing. */
  readonly penalised: boolean;
  readonly executed: number;
}

/** Share by which a thought of `length` characters exceeds its limit; 0 within it, and without one. */
const excess = (length: number, limit: number): number => (limit > 0 && length > limit ? (length - limit) / limit : 0);

/** The penalties of a turn that are not 0. A reply that cannot be read has no thought: of these it costs the missing coordinates alone. */
export const penaltiesOf = (switches: PenaltyKeys, { executed, penalised, reading }: PenaltyInput): Penalties => {
  const { parsed, thought } = reading;
  const length = [...thought].length;
  const parts = {
    format: penalised ? switches.format_penalty : 0,
    step: -switches.step_penalty * executed,
    thought_quality: parsed && length < leastThought ? -switches.think_quality_penalty : 0,
    thought_length: parsed ? -switches.think_len_penalty * excess(length, switches.think_len_limit) : 0,
    thought_coordinates: parsed && coordinates.test(thought) ? 0 : -switches.think_coord_fmt_penalty,
  };
  return Object.fromEntries(Object.entries(parts).filter(([, penalty]) => penalty !== 0));
};

/** Their sum; 0 of none. */
export const sumPenalties = (penalties: Penalties): number =>
  Object.values(penalties).reduce((sum, penalty) => sum + penalty, 0);
