/** An episode that could not be played to an end, as data: it counts in `episodes/failed`, and a resume plays it again. */
import type { EpisodeKey } from "./EvaluatedEpisode.ts";

export interface NotPlayed extends EpisodeKey {
  readonly _tag: "NotPlayed";
  /** The failure's kind: of the environment, or of the endpoint. */
  readonly reason: string;
  readonly message: string;
}

export const notPlayed = (key: EpisodeKey, reason: string, message: string): NotPlayed => ({
  _tag: "NotPlayed",
  ...key,
  reason,
  message,
});

export const isNotPlayed = (result: object): result is NotPlayed => "_tag" in result && result._tag === "NotPlayed";
