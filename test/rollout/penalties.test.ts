import { describe, expect, it } from "@effect/vitest";
import { Effect, Layer } from "effect";
import { penaltyOf, turnsOf } from "../../src/domain/Episode.ts";
import { toRecord } from "../../src/domain/metrics/Metrics.ts";
import * as Group from "../../src/rollout/group.ts";
import { parse } from "../../src/rollout/parse.ts";
import { type PenaltyKeys, penaltiesOf, sumPenalties } from "../../src/rollout/penalties.ts";
import { environmentMetrics } from "../../src/rollout/statistics.ts";
import { corridor, penalties, prompt, rollout, scripted, training } from "./fakes.ts";

const penaltiesFor = (reply: string, switches: Partial<PenaltyKeys>, executed = 1, penalised = false) => {
  const reading = parse(reply, { think: true, separator: "||", maxActions: 2 });
  return penaltiesOf({ ...penalties, ...switches }, { reading, executed, penalised });
};

const thinking = (thought: string): string => `<think>${thought}</think><answer>Up</answer>`;

describe("the penalties of a turn", () => {
  it("are the format penalty alone by default", () => {
    expect(penaltiesFor(thinking("t"), {}, 2)).toEqual({});
    expect(penaltiesFor("nonsense", {}, 0, true)).toEqual({ format: -0.1 });
    expect(sumPenalties({})).toBe(0);
  });

  it("charge each action that is carried out", () => {
    expect(penaltiesFor(thinking("t"), { step_penalty: 0.05 }, 2)).toEqual({ step: -0.1 });
    expect(penaltiesFor(thinking("t"), { step_penalty: 0.05 }, 0)).toEqual({});
  });

  it("charge a thought of fewer than 10 characters, and none that cannot be read", () => {
    const switches = { think_quality_penalty: 0.3 };
    expect(penaltiesFor(thinking("123456789"), switches)).toEqual({ thought_quality: -0.3 });
    expect(penaltiesFor(thinking("1234567890"), switches)).toEqual({});
    expect(penaltiesFor("<think>short", switches)).toEqual({});
  });

  it("charge a long thought by the share of its excess", () => {
    const switches = { think_len_penalty: 0.2, think_len_limit: 20 };
    expect(penaltiesFor(thinking("x".repeat(20)), switches)).toEqual({});
    expect(penaltiesFor(thinking("x".repeat(30)), switches).thought_length).toBeCloseTo(-0.1, 12);
    expect(penaltiesFor(thinking("x".repeat(30)), { think_len_penalty: 0.2 })).toEqual({});
  });

  it("charge a thought that does not begin with the player's coordinates, or is missing", () => {
    const switches = { think_coord_fmt_penalty: 0.1 };
    expect(penaltiesFor(thinking("Player: (1, 2) | Box: (3, 4)"), switches)).toEqual({});
    expect(penaltiesFor(thinking("The player is at (1, 2)"), switches)).toEqual({ thought_coordinates: -0.1 });
    expect(penaltiesFor("nonsense", switches)).toEqual({ thought_coordinates: -0.1 });
  });
});

describe("an episode with such switches", () => {
  it.effect("keeps what its penalties are made of, and metrics count them by reason", () =>
    Effect.gen(function* () {
      const policy = scripted("a thought of length</think><answer>Right || Right</answer>", "nonsense");
      const setup = { ...rollout({ max_turn: 2 }), penalties: { ...penalties, step_penalty: 0.25 } };
      const group = yield* Group.play(setup, training, { ...prompt, size: 1 }).pipe(
        Effect.provide(Layer.merge(policy.layer, corridor(() => 9).layer)),
      );
      const [episode] = group.episodes;
      expect(turnsOf(episode!).map((turn) => turn.penalties)).toEqual([{ step: -0.5 }, { format: -0.1 }]);
      expect(penaltyOf(episode!)).toBeCloseTo(-0.6, 12);
      const metrics = toRecord(environmentMetrics("train", [group]));
      expect(metrics).toMatchObject({ "train/penalty/step": -0.5, "train/penalty/format": -0.1 });
    }),
  );
});
