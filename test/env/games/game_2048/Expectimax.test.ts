/** The demonstrating player makes moves that move something and plays far better than chance. */
import { Schema } from "effect";
import { describe, expect, it } from "vitest";
import { advise } from "../../../../src/env/games/game_2048/Expectimax.ts";
import { Game2048 } from "../../../../src/env/games/game_2048/Game2048.ts";
import { Game2048Config } from "../../../../src/env/games/game_2048/Game2048Config.ts";
import { instanceOf, noiseOf } from "../../contract/players.ts";
import { mean } from "../statistics.ts";

const config = Schema.decodeUnknownSync(Game2048Config)({});

describe("the player", () => {
  it("has no move where nothing moves", () => {
    expect(advise(config, [1, 2, 1, 2, 2, 1, 2, 1, 1, 2, 1, 2, 2, 1, 2, 1])).toBeNull();
  });

  it("takes the only move there is", () => {
    expect(advise(config, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 1, 2])).toBe("Up");
  });

  it("plays any size and any new tiles", () => {
    for (const keys of [
      { size: 3, two_prob: 1 },
      { size: 5, two_prob: 0 },
    ]) {
      const other = Schema.decodeUnknownSync(Game2048Config)(keys);
      const { cells } = Game2048.reset(other, instanceOf(1), "train");
      expect(advise(other, cells)).not.toBeNull();
    }
  });

  it("scores by 250 moves more than twice what whole games of chance do", () => {
    const scores = [0, 1, 2].map((seed) => {
      let state = Game2048.reset(config, instanceOf(10_000 + seed), "train");
      for (let at = 0; at < 250; at++) {
        const action = advise(config, state.cells);
        if (action === null) break;
        const transition = Game2048.step(config, state, action, noiseOf(10_000 + seed, 0, at));
        expect(transition.info.action_is_effective).toBe(true);
        state = transition.state;
      }
      return state.score;
    });
    expect(mean(scores)).toBeGreaterThan(2500);
  });
});
