/**
 * The distributions over a window's groups and episodes: lengths, turns, rewards, scores, and the staleness of each trained
 * token. A pure state machine over the run's events.
 */
import type { EpisodeSummary } from "../../../domain/EpisodeSummary.ts";
import type { Event, Verdict } from "../../../domain/Event.ts";
import { GroupSummaries } from "../../../domain/GroupSummaries.ts";
import * as Histogram from "./Histogram.ts";

export interface Distribution {
  readonly tag: string;
  readonly step: number;
  readonly histogram: Histogram.Histogram;
}

const tokensOf = ({ versions }: EpisodeSummary): number => versions.reduce((sum, [, tokens]) => sum + tokens, 0);

const isPresent = <A>(value: A | undefined): value is A => value !== undefined;

export class Distributions {
  readonly #summaries = new GroupSummaries();
  /** Version that the window under way trains. */
  #from = new Map<number, number>();

  /** The distributions that the event completes. */
  observe(event: Event): readonly Distribution[] {
    this.#summaries.observe(event);
    switch (event._tag) {
      case "Learning":
        this.#from = new Map([[event.window, event.from]]);
        return [];
      case "Verdict":
        return this.#ofVerdict(event);
      case "Updated":
        return this.#ofUpdate(event.window, event.groups);
      default:
        return [];
    }
  }

  #ofVerdict({ judged, window }: Verdict): readonly Distribution[] {
    const episodes = judged
      .flatMap(({ group }) => this.#summaries.episodesOf(group))
      .filter((episode) => !episode.failed);
    const usable = judged.filter(({ verdict }) => verdict !== "failed");
    return named(window + 1, [
      ["episodes/tokens", Histogram.ofValues(episodes.map(tokensOf))],
      ["episodes/turns", Histogram.ofValues(episodes.map(({ turns }) => turns))],
      ["episodes/reward", Histogram.ofValues(episodes.map(({ reward }) => reward))],
      ["groups/reward", Histogram.ofValues(usable.map(({ reward }) => reward))],
      ["groups/filter_score", Histogram.ofValues(usable.map(({ score }) => score).filter(isPresent))],
    ]);
  }

  #ofUpdate(window: number, groups: readonly number[]): readonly Distribution[] {
    const from = this.#from.get(window);
    if (from === undefined) return [];
    const behind = groups
      .flatMap((group) => this.#summaries.episodesOf(group))
      .flatMap(({ failed, versions }) => (failed ? [] : versions))
      .map(([version, tokens]) => [from - version, tokens] as const);
    return named(window + 1, [["staleness/tokens", Histogram.ofWeighted(behind)]]);
  }
}

const named = (
  step: number,
  all: readonly (readonly [string, Histogram.Histogram | null])[],
): readonly Distribution[] =>
  all.flatMap(([tag, histogram]) => (histogram === null ? [] : [{ tag: `distribution/${tag}`, step, histogram }]));
