/** Events that many tests tell, and what they hold. */
import type { EpisodeSummary } from "../../src/domain/EpisodeSummary.ts";
import type { Event } from "../../src/domain/Event.ts";

type EventOf<Tag extends Event["_tag"]> = Extract<Event, { readonly _tag: Tag }>;

export const admitted = (group: number, window = 0): EventOf<"Admitted"> => ({ _tag: "Admitted", group, window });

/** A group of no episodes that has ended well. */
export const finished = (group: number, changes: Partial<EventOf<"Finished">> = {}): EventOf<"Finished"> => ({
  _tag: "Finished",
  group,
  tokens: 1,
  failed: false,
  tag: "A",
  episodes: [],
  ...changes,
});

/** An episode of one turn that was won. */
export const summaryWith = (changes: Partial<EpisodeSummary> = {}): EpisodeSummary => ({
  success: true,
  reward: 1,
  turns: 1,
  versions: [],
  failed: false,
  ...changes,
});

/** The filter's verdict on a window, which by its rule leaves out the groups of `filtered`; all rewards are 0. */
export const verdict = (
  window: number,
  kept: readonly number[] = [],
  filtered: readonly number[] = [],
): EventOf<"Verdict"> => ({
  _tag: "Verdict",
  window,
  kept,
  filtered,
  judged: [
    ...kept.map((group) => ({ group, verdict: "kept", reward: 0 }) as const),
    ...filtered.map((group) => ({ group, verdict: "rule", reward: 0 }) as const),
  ],
});

/** The way of groups 1 and 2 through the stages: the filter keeps group 1 and leaves out group 2. */
export const wayOfTwo: readonly Event[] = [
  admitted(1),
  admitted(2),
  finished(1),
  finished(2),
  { _tag: "Windowed", window: 0, groups: [1, 2] },
  { _tag: "Scored", window: 0 },
  {
    _tag: "Verdict",
    window: 0,
    kept: [1],
    filtered: [2],
    judged: [
      { group: 1, verdict: "kept", score: 1, reward: 1 },
      { group: 2, verdict: "rule", score: 0, reward: 0 },
    ],
  },
  { _tag: "Learning", window: 0, from: 0 },
  { _tag: "Updated", window: 0, groups: [1], version: 1, tokens: 1 },
  { _tag: "StepClosed", step: 1, groups: [1, 2], seconds: 1 },
];
