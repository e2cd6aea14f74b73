/** Rooms and rewards of RAGEN's PR #160, as its own environment gives them in random play (fixtures/ragen/rewards.py), to the last bit. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Sokoban } from "../../../../src/env/games/sokoban/Sokoban.ts";
import { instanceOf, noiseOf } from "../../contract/players.ts";
import { configWith } from "./rooms.ts";

interface Played {
  readonly env_config: Readonly<Record<string, unknown>>;
  readonly seed: number;
  readonly room: string;
  readonly steps: readonly (readonly [
    action: string,
    reward: number,
    done: boolean,
    effective: boolean,
    success: boolean,
  ])[];
}

const plays: readonly Played[] = JSON.parse(
  readFileSync(new URL("../../../fixtures/ragen/sokobanRewards.json", import.meta.url), "utf8"),
);

describe("RAGEN's PR #160", () => {
  it.each(plays)("gives the room and rewards of $env_config under seed $seed", ({ env_config, room, seed, steps }) => {
    const config = configWith({ ...env_config, dim_room: [6, 6], instances: "ragen" });
    let state = Sokoban.reset(config, instanceOf(seed), "train");
    expect(Sokoban.compact(config, state).replaceAll("\n", "/")).toBe(room);
    const ours = steps.map(([action]) => {
      const {
        info,
        reward,
        state: next,
        terminated,
        truncated,
      } = Sokoban.step(config, state, action, noiseOf(0, 0, 0));
      state = next;
      return [action, reward, terminated || truncated, info.action_is_effective, info.success];
    });
    expect(ours).toEqual(steps);
  });

  it("has rooms that were solved and rooms that were not", () => {
    const solved = plays.filter(({ steps }) => steps.at(-1)![4]).length;
    expect(solved).toBeGreaterThan(2);
    expect(solved).toBeLessThan(plays.length);
  });
});
