/** Episodes as they were played, in lengths only. A run in virtual time plays them again. */

export interface PlayedTurn {
  /** Tokens shown before the reply. */
  readonly prompt: number;
  /** Tokens of the reply. */
  readonly sampled: number;
  /** True when the turn begins a token sequence, so that its prompt is all of it. The first turn of an episode always does. */
  readonly opens?: boolean;
  /** It sums up earlier turns and steps no environment. */
  readonly summary?: { readonly trained: boolean };
}

export interface PlayedGroup {
  readonly episodes: readonly (readonly PlayedTurn[])[];
  /** True when the filter let it be trained on. */
  readonly kept: boolean;
}

const isTrained = ({ summary }: PlayedTurn): boolean => summary?.trained !== false;

/** Tokens of each token sequence of an episode that is trained on. */
export const lengthsOf = (episode: readonly PlayedTurn[]): readonly number[] => {
  const lengths: number[] = [];
  for (const { opens, prompt, sampled } of episode.filter(isTrained)) {
    if (opens || lengths.length === 0) lengths.push(0);
    lengths[lengths.length - 1]! += prompt + sampled;
  }
  return lengths;
};

/** All tokens that an update computes of a group. */
export const tokensOf = ({ episodes }: PlayedGroup): number =>
  episodes.flatMap(lengthsOf).reduce((sum, length) => sum + length, 0);

/** Tokens sampled for a group. */
export const sampledOf = ({ episodes }: PlayedGroup): number =>
  episodes.flat().reduce((sum, { sampled }) => sum + sampled, 0);

/** Tokens sampled for a group that are trained on. */
export const trainedOf = ({ episodes }: PlayedGroup): number =>
  episodes
    .flat()
    .filter(isTrained)
    .reduce((sum, { sampled }) => sum + sampled, 0);
