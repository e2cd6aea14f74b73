/**
 * The rewards of a window's groups as tables, by RAGEN's names: `rollout/reward_table` of each step (an episode a row, a group a column) and the
 * rows that it adds to `rollout/group_rv_table`. A pure state machine over the run's events. Invariant: it remembers no more groups than are
 * in flight, and never more than `MOST`.
 */
import type { EpisodeSummary } from "../../../domain/EpisodeSummary.ts";
import type { Event, Verdict } from "../../../domain/Event.ts";
import { standardDeviation } from "../../../domain/Statistics.ts";
import type { Row } from "./Table.ts";

/** Groups that are remembered at once; the oldest are forgotten first, should the events of their ends be missing. */
const MOST = 65_536;

export const REWARDS = "rollout/reward_table";
/** Of `rollout/group_rv_table`. */
export const columns: readonly string[] = ["step", "group_id", "reward_std", "selected"];

export interface GroupRows {
  readonly step: number;
  /** Of the step's own table: `group_0`, …, and a row for each member; null where an episode failed. */
  readonly rewards: { readonly columns: readonly string[]; readonly rows: readonly Row[] };
  /** Step, number, unbiased deviation of the rewards (null of fewer than two) and whether it is trained on, of each group. */
  readonly deviations: readonly Row[];
}

export class GroupTables {
  readonly #finished = new Map<number, readonly EpisodeSummary[]>();

  /** The rows that the event completes; null where it does not. */
  observe(event: Event): GroupRows | null {
    switch (event._tag) {
      case "Finished":
        this.#finished.set(event.group, event.episodes);
        if (this.#finished.size > MOST) this.#finished.delete(this.#finished.keys().next().value ?? event.group);
        return null;
      case "Verdict":
        return this.#rowsOf(event);
      case "Dropped":
        for (const { group } of event.groups) this.#finished.delete(group);
        return null;
      case "StepClosed":
        for (const group of event.groups) this.#finished.delete(group);
        return null;
      default:
        return null;
    }
  }

  #rowsOf({ judged, window }: Verdict): GroupRows {
    const groups = judged.map(({ group, verdict }) => ({
      group,
      verdict,
      rewards: (this.#finished.get(group) ?? []).map(({ failed, reward }) => (failed ? null : reward)),
    }));
    const size = Math.max(0, ...groups.map(({ rewards }) => rewards.length));
    const step = window + 1;
    return {
      step,
      rewards: {
        columns: groups.map((_, i) => `group_${i}`),
        rows: Array.from({ length: size }, (_, member) => groups.map(({ rewards }) => rewards[member] ?? null)),
      },
      deviations: groups.map(({ group, rewards, verdict }) => {
        const usable = rewards.filter((reward) => reward !== null);
        return [step, group, usable.length < 2 ? null : standardDeviation(usable), verdict === "kept"];
      }),
    };
  }
}
