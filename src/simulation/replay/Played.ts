/** Episodes as they were played, in lengths only: what a run in virtual time plays again in their place. */

export interface PlayedTurn {
  /** Tokens shown before the reply. */
  readonly prompt: number;
  /** Tokens of the reply. */
  readonly sampled: number;
}

export interface PlayedGroup {
  readonly episodes: readonly (readonly PlayedTurn[])[];
  /** Whether the filter let it be trained on. */
  readonly kept: boolean;
}

/** All tokens of a group: what an update computes of it. */
export const tokensOf = ({ episodes }: PlayedGroup): number =>
  episodes.flat().reduce((sum, { prompt, sampled }) => sum + prompt + sampled, 0);

export const sampledOf = ({ episodes }: PlayedGroup): number =>
  episodes.flat().reduce((sum, { sampled }) => sum + sampled, 0);
