/**
 * What a window's events say of how its groups spread: lengths, turns, rewards and scores of all of them, and how stale each trained token
 * was. A pure state machine over the run's events. Invariant: it holds no more groups than are in flight, and never more than `MOST`.
 */
import type { EpisodeSummary } from "../../../domain/EpisodeSummary.ts";
import type { Event, Verdict } from "../../../domain/Event.ts";
import * as Histogram from "./Histogram.ts";

/** Groups that are remembered at once; the oldest are forgotten first, should the events of their ends be missing. */
const MOST = 65_536;

export interface Distribution {
  readonly tag: string;
  readonly step: number;
  readonly histogram: Histogram.Histogram;
}

type Episodes = readonly EpisodeSummary[];

const tokensOf = ({ versions }: EpisodeSummary): number => versions.reduce((sum, [, tokens]) => sum + tokens, 0);

const isPresent = <A>(value: A | undefined): value is A => value !== undefined;

export class Distributions {
  readonly #finished = new Map<number, Episodes>();
  /** Version that the window under way trains. */
  #from = new Map<number, number>();

  /** What the event completes. */
  observe(event: Event): readonly Distribution[] {
    switch (event._tag) {
      case "Finished":
        this.#remember(event.group, event.episodes);
        return [];
      case "Learning":
        this.#from = new Map([[event.window, event.from]]);
        return [];
      case "Verdict":
        return this.#judged(event);
      case "Updated":
        return this.#trained(event.window, event.groups);
      case "Dropped":
        for (const { group } of event.groups) this.#finished.delete(group);
        return [];
      case "StepClosed":
        for (const group of event.groups) this.#finished.delete(group);
        return [];
      default:
        return [];
    }
  }

  #remember(group: number, episodes: Episodes): void {
    this.#finished.set(group, episodes);
    if (this.#finished.size > MOST) this.#finished.delete(this.#finished.keys().next().value ?? group);
  }

  #judged({ judged, window }: Verdict): readonly Distribution[] {
    const episodes = judged
      .flatMap(({ group }) => this.#finished.get(group) ?? [])
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

  #trained(window: number, groups: readonly number[]): readonly Distribution[] {
    const from = this.#from.get(window);
    if (from === undefined) return [];
    const behind = groups
      .flatMap((group) => this.#finished.get(group) ?? [])
      .flatMap(({ failed, versions }) => (failed ? [] : versions))
      .map(([version, tokens]) => [from - version, tokens] as const);
    return named(window + 1, [["staleness/tokens", Histogram.of(behind)]]);
  }
}

const named = (
  step: number,
  all: readonly (readonly [string, Histogram.Histogram | null])[],
): readonly Distribution[] =>
  all.flatMap(([tag, histogram]) => (histogram === null ? [] : [{ tag: `distribution/${tag}`, step, histogram }]));
