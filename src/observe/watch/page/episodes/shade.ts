/** Shades tokens: the number of each, and its place on a scale that all shown episodes share. */
import type { EpisodeRecord, TurnRecord } from "../../../../domain/EpisodeRecord.ts";

export const shadings = ["logprob", "entropy", "advantage", "value", "version"] as const;
export type Shading = (typeof shadings)[number];

export const labels: Readonly<Record<Shading, string>> = {
  logprob: "log-probability",
  entropy: "entropy",
  advantage: "advantage",
  value: "value",
  version: "version",
};

export const meanings: Readonly<Record<Shading, string>> = {
  logprob: "of the token under the distribution it was sampled from; the stronger, the less likely",
  entropy: "of that distribution, in nats; the stronger, the less certain",
  advantage: "of the token in the update: above zero it was made likelier, below zero less likely",
  value: "what the critic expected at the token",
  version: "of the weights that sampled the token; the stronger, the newer",
};

/** Numbers of a turn's tokens; null where they are not recorded. */
export const valuesOf = (turn: TurnRecord, shading: Shading): readonly number[] | null => {
  switch (shading) {
    case "logprob":
      return turn.mu;
    case "entropy":
      return turn.entropies;
    case "advantage":
      return turn.advantages ?? null;
    case "value":
      return turn.values ?? null;
    case "version":
      return turn.versions;
  }
};

export interface Scale {
  readonly shading: Shading;
  readonly least: number;
  readonly greatest: number;
  /** Zero has no colour, and numbers on either side of it have their own. */
  readonly diverging: boolean;
}

/** Share of the numbers that a scale of two sides or of likelihoods holds: a single far one would leave the others without colour. */
const HELD = 0.95;

/** Over all numbers of the episodes; null where there are none. */
export const scaleOf = (episodes: readonly EpisodeRecord[], shading: Shading): Scale | null => {
  const numbers = episodes
    .flatMap(({ turns }) => turns.flatMap((turn) => valuesOf(turn, shading) ?? []))
    .filter((value) => Number.isFinite(value));
  if (numbers.length === 0) return null;
  const least = numbers.reduce((a, b) => Math.min(a, b));
  const greatest = numbers.reduce((a, b) => Math.max(a, b));
  const sizes = numbers.map(Math.abs).sort((a, b) => a - b);
  const most = sizes[Math.ceil(HELD * sizes.length) - 1] || (sizes.at(-1) ?? 0);
  switch (shading) {
    case "logprob":
      return { shading, least: -most, greatest: 0, diverging: false };
    case "entropy":
      return { shading, least: 0, greatest, diverging: false };
    case "version":
      return { shading, least, greatest, diverging: false };
    case "advantage":
    case "value":
      return { shading, least: -most, greatest: most, diverging: true };
  }
};

/**
 * The strength of a number's colour: 0 is none, 1 the strongest; a diverging scale runs from -1 to 1. Log-probabilities grow
 * stronger downwards, all others upwards. If all tokens have one version, there is no colour.
 */
export const strength = ({ diverging, greatest, least, shading }: Scale, value: number): number => {
  if (!Number.isFinite(value)) return 0;
  const span = greatest - least;
  if (span === 0) return 0;
  if (diverging) return Math.max(-1, Math.min(1, value / greatest));
  const share = Math.max(0, Math.min(1, (value - least) / span));
  return shading === "logprob" ? 1 - share : share;
};

/** The shadings for which the episodes have numbers. */
export const available = (episodes: readonly EpisodeRecord[]): readonly Shading[] =>
  shadings.filter((shading) => scaleOf(episodes, shading) !== null);
