/**
 * The text that stands in an episode's prompts for turns out of sight: nothing, facts, or a summary that the player writes. Invariant: the
 * same number of turns is summarised once an episode.
 */
import { Effect } from "effect";
import type { TextHistory } from "./context.ts";
import type { Task } from "./Task.ts";
import type { PastTurn } from "./Template.ts";

/** A summary that the player has written, and the record of how. */
export interface WrittenSummary<A> {
  readonly text: string;
  readonly record: A;
}

/** Answers a user message that asks for a summary of the first `turns` turns; null where it does not fit the player's context. */
export type SummaryWriter<A, E, R = never> = (
  asked: string,
  turns: number,
) => Effect.Effect<WrittenSummary<A> | null, E, R>;

/** A summary, and what was written for it now. */
export interface Summary<A> {
  /** Empty for nothing. */
  readonly text: string;
  readonly records: readonly A[];
}

export class Summaries<A, E, R = never> {
  readonly #rollout: TextHistory["rollout"];
  readonly #task: Task;
  readonly #write: SummaryWriter<A, E, R>;
  /** The player's last one, of so many turns. */
  #last = { text: "", turns: 0 };

  constructor(rollout: TextHistory["rollout"], task: Task, write: SummaryWriter<A, E, R>) {
    this.#rollout = rollout;
    this.#task = task;
    this.#write = write;
  }

  /** The summary of an episode's first turns, all of those given. */
  summarise(turns: readonly PastTurn[]): Effect.Effect<Summary<A>, E, R> {
    const { limits, template } = this.#rollout;
    if (turns.length === 0 || limits.summary === "none") return Effect.succeed({ text: "", records: [] });
    if (limits.summary === "facts") return Effect.succeed({ text: template.facts(turns), records: [] });
    const { text, turns: summarised } = this.#last;
    return turns.length === summarised ? Effect.succeed({ text, records: [] }) : this.#continue(turns);
  }

  /** The player goes on from its last summary. Where the turns since do not fit its context, that one stays. */
  #continue(turns: readonly PastTurn[]): Effect.Effect<Summary<A>, E, R> {
    const { limits, template } = this.#rollout;
    const { text: before, turns: summarised } = this.#last;
    const request = template.summarising(this.#task, turns.slice(summarised), before, limits.summary_length);
    return Effect.map(this.#write(request, turns.length), (written): Summary<A> => {
      if (written === null) return { text: before, records: [] };
      this.#last = { text: written.text, turns: turns.length };
      return { text: written.text, records: [written.record] };
    });
  }
}
