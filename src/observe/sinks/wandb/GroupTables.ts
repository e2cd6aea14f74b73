/**
 * The rewards of a window's groups as tables, by RAGEN's names: `rollout/reward_table` of each step (an episode a row, a group a column) and the
 * rows that it adds to `rollout/group_rv_table`. A pure state machine over the run's events.
 */
import type { Event, Verdict } from "../../../domain/Event.ts";
import { GroupSummaries } from "../../../domain/GroupSummaries.ts";
import { standardDeviation } from "../../../domain/Statistics.ts";
import type { Row } from "./Table.ts";

export const REWARDS = "rollout/reward_table";
/** Columns of `rollout/group_rv_table`. */
export const columns: readonly string[] = ["step", "group_id", "reward_std", "selected"];

export interface GroupRows {
  readonly step: number;
  /** The step's own table: `group_0`, …, and a row for each member; null for a failed episode. */
  readonly rewards: { readonly columns: readonly string[]; readonly rows: readonly Row[] };
  /** Step, number, unbiased deviation of the rewards (null of fewer than two) and whether it is trained on, of each group. */
  readonly deviations: readonly Row[];
}

export class GroupTables {
  readonly #summaries = new GroupSummaries();

  /** The rows that the event completes; null where it does not. */
  observe(event: Event): GroupRows | null {
    this.#summaries.observe(event);
    return event._tag === "Verdict" ? this.#rowsOf(event) : null;
  }

  #rowsOf({ judged, window }: Verdict): GroupRows {
    const groups = judged.map(({ group, verdict }) => ({
      group,
      verdict,
      rewards: this.#summaries.episodesOf(group).map(({ failed, reward }) => (failed ? null : reward)),
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
