/**
 * Summaries of the episodes of ended groups, until their step is closed or they are dropped. Invariant: it holds no more groups than are in
 * flight, and never more than `MOST`.
 */
import type { EpisodeSummary } from "./EpisodeSummary.ts";
import type { Event } from "./Event.ts";

/** Groups that are remembered at once; the oldest are forgotten first, should the events of their ends be missing. */
const MOST = 65_536;

export class GroupSummaries {
  readonly #episodes = new Map<number, readonly EpisodeSummary[]>();

  observe(event: Event): void {
    switch (event._tag) {
      case "Resumed":
        this.#episodes.clear();
        break;
      case "Finished":
        this.#episodes.set(event.group, event.episodes);
        if (this.#episodes.size > MOST) this.#episodes.delete(this.#episodes.keys().next().value ?? event.group);
        break;
      case "Dropped":
        for (const { group } of event.groups) this.#episodes.delete(group);
        break;
      case "StepClosed":
        for (const group of event.groups) this.#episodes.delete(group);
        break;
    }
  }

  /** The episodes of a group, one for each member; none of a group that has not ended or is over. */
  episodesOf(group: number): readonly EpisodeSummary[] {
    return this.#episodes.get(group) ?? [];
  }
}
