import { describe, expect, it } from "vitest";
import { refillRounds } from "../../src/config/checks/filter.ts";
import { refillNumbers } from "../../src/config/refillNumbers.ts";
import type { Tree } from "../../src/config/Tree.ts";
import { configWith } from "../build/config.ts";

const numbers = (refill: Tree, pipeline: Tree = {}) =>
  refillNumbers(configWith({ es_manager: { train: { env_groups: 4, n_groups: [4] } }, filter: { refill }, pipeline }));

describe("the numbers of refills", () => {
  it("are enough for all groups that a window may ask for, and begin with another tag in each window", () => {
    expect(numbers({ target: 3, rounds: 2 })).toEqual({ perRound: 3, perWindow: 9 });
    expect(numbers({ target: 3, rounds: 2, batch: 2 })).toEqual({ perRound: 2, perWindow: 5 });
  });

  it("are none where windows ask for no groups, or take those that finish next", () => {
    expect(numbers({})).toBeNull();
    expect(numbers({ target: 3 }, { mode: "async", window_order: "completion" })).toBeNull();
  });

  it("must not run out before the last window", () => {
    const problems = (total_training_steps: number) =>
      refillRounds(
        configWith({
          trainer: { total_training_steps },
          filter: { refill: { target: 1, rounds: 1_000, batch: 4_096 } },
        }),
      );
    expect(problems(100)).toEqual([]);
    expect(problems(1_000)).toEqual([
      expect.stringMatching(
        /^filter\.refill\.rounds: 1000: .* group numbers, too many for .*; nearest: 1, with a smaller filter\.refill\.batch$/,
      ),
    ]);
  });
});
