/** Games of uniformly random moves come out as those of another program (3000 games by lists of tiles under Python's generator). */
import { describe, expect, it } from "vitest";
import { playRandomly } from "../../contract/players.ts";
import { preset } from "../../contract/presets.ts";
import { chiSquare, standardErrors } from "../statistics.ts";

const reference = 3000;
const environment = preset("game_2048");
const games = Array.from({ length: 1000 }, (_, seed) => {
  const { actions, transitions } = playRandomly(environment, 10_000 + seed, 0, 5000);
  const info = transitions.at(-1)!.info as unknown as { readonly final_score: number; readonly final_max_tile: number };
  const moves = transitions.filter(({ info: { action_is_effective } }) => action_is_effective).length;
  return { ...info, moves, actions: actions.length };
});
const column = (key: "final_score" | "moves" | "actions"): readonly number[] => games.map((game) => game[key]);

describe("random play of 2048", () => {
  it("scores 1084 points a game", () => {
    expect(standardErrors(column("final_score"), 1084.2, reference)).toBeLessThan(3.5);
  });

  it("lasts 117.6 moves, by 139.7 actions", () => {
    expect(standardErrors(column("moves"), 117.58, reference)).toBeLessThan(3.5);
    expect(standardErrors(column("actions"), 139.74, reference)).toBeLessThan(3.5);
  });

  it("ends with 128 as the highest tile in 48 % of the games, 64 in 37 %, 256 and more in 7 %", () => {
    const histogram = [0, 32, 64, 128, 256].map(
      (least, bin) =>
        games.filter(
          ({ final_max_tile: highest }) => highest >= least && highest < ([32, 64, 128, 256][bin] ?? Infinity),
        ).length,
    );
    // 20 is the 99.95th percentile at 4 degrees of freedom.
    expect(chiSquare(histogram, [10, 217, 1117, 1434, 222])).toBeLessThan(20);
  });
});
