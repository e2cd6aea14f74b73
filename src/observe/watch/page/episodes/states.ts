/** The states around each turn of an episode. A state after a turn is what the next turn showed, or the record's last. Pure. */
import type { EpisodeRecord } from "../../../../domain/EpisodeRecord.ts";
import type { Scene } from "../../Api.ts";
import type { Drawing } from "../drawing/Drawing.ts";
import { drawingOf } from "../drawing/read.ts";

export interface Shown {
  readonly text: string;
  readonly drawing: Drawing | null;
}

export interface TurnStates {
  readonly before: Shown;
  /** Null if the record lacks it, as after a step that failed. */
  readonly after: Shown | null;
}

const shownIn = ({ messages }: EpisodeRecord): readonly string[] =>
  messages.filter(({ role }) => role === "user").map(({ content }) => content);

/** For each token sequence of the episode, in order: the states of its turns. */
export const statesOf = (
  scene: Scene | null,
  sequences: readonly EpisodeRecord[],
): readonly (readonly TurnStates[])[] => {
  const texts = sequences.map(shownIn);
  const opening = texts.flat()[0];
  const shown = (text: string): Shown => ({ text, drawing: drawingOf(scene, text, opening) });
  return sequences.map(({ final, summary, turns }, sequence) => {
    // The prompt of a summary is no state.
    if (summary)
      return turns.map((_, at) => ({ before: { text: texts[sequence]?.[at] ?? "", drawing: null }, after: null }));
    const next = sequences.findIndex((later, at) => at > sequence && later.summary === undefined);
    const following = texts[next]?.[0] ?? final;
    const states = [...(texts[sequence] ?? []), ...(following === undefined ? [] : [following])].map(shown);
    return turns.map((_, at) => ({ before: states[at] ?? { text: "", drawing: null }, after: states[at + 1] ?? null }));
  });
};
