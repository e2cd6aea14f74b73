import { describe, expect, it } from "vitest";
import type { EpisodeSummary } from "../../../../src/domain/EpisodeSummary.ts";
import type { Event } from "../../../../src/domain/Event.ts";
import { GroupTables } from "../../../../src/observe/sinks/wandb/GroupTables.ts";
import { Tables } from "../../../../src/observe/sinks/wandb/Tables.ts";
import { finished, summaryWith, verdict } from "../../../build/events.ts";

const episode = (reward: number | null): EpisodeSummary =>
  summaryWith({ success: false, reward: reward ?? 0, failed: reward === null });
const ended = (group: number, ...rewards: readonly (number | null)[]): Event =>
  finished(group, { episodes: rewards.map(episode) });

const rowsOf = (events: readonly Event[]) => {
  const tables = new GroupTables();
  return events.map((event) => tables.observe(event)).filter((rows) => rows !== null);
};

describe("the tables of groups", () => {
  it("have a column for each group of the window and a row for each member, and the deviation of each group", () => {
    const events = [ended(4, 0, 2), ended(5, 1, null), verdict(1, [4], [5])];
    expect(rowsOf(events)).toEqual([
      {
        step: 2,
        rewards: {
          columns: ["group_0", "group_1"],
          rows: [
            [0, 1],
            [2, null],
          ],
        },
        deviations: [
          [2, 4, Math.SQRT2, true],
          [2, 5, null, false],
        ],
      },
    ]);
  });

  it("forget groups with their step, and those that are dropped", () => {
    const events: readonly Event[] = [
      ended(1, 1, 2),
      ended(2, 1, 2),
      { _tag: "StepClosed", step: 1, groups: [1], seconds: 0 },
      { _tag: "Dropped", groups: [{ group: 2, tokens: 1 }], reason: "stopped" },
      verdict(1, [1, 2], []),
    ];
    expect(rowsOf(events)[0]?.rewards.rows).toEqual([]);
  });

  it("are written with the step that consumes the window, the deviations of all steps in one", () => {
    const tables = new Tables({ most: 0, steps: 10 });
    const [first, second] = rowsOf([ended(1, 0, 1), verdict(0, [1], []), ended(2, 0, 1), verdict(1, [2], [])]);
    tables.addGroups(first!);
    tables.addGroups(second!);
    const paths = (step: number) => tables.due(step, false).map(({ path }) => path.replace(/_[0-9a-f]{20}\..*/, ""));
    expect(paths(1)).toEqual(["media/table/rollout/reward_table_1", "media/table/rollout/group_rv_table_1"]);
    expect(paths(2)).toEqual(["media/table/rollout/reward_table_2", "media/table/rollout/group_rv_table_2"]);
    expect(paths(3)).toEqual([]);
  });
});
