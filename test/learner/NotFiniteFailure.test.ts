import { describe, expect, it } from "vitest";
import { LearnerError, PolicyError } from "../../src/domain/Errors.ts";
import type { UntrainedNetwork } from "../../src/learner/NonFinitePart.ts";
import * as NotFiniteFailure from "../../src/learner/NotFiniteFailure.ts";
import { reachConfig } from "../build/config.ts";

const config = reachConfig({
  trainer: { max_skipped_updates: 3, total_training_steps: 10 },
  actor: { lr: 0.5, grad_clip: 0 },
  critic: { lr: 0.2, grad_clip: 4 },
  sft: { lr: 0.7, steps: 2 },
});
const policy: UntrainedNetwork = { network: "policy", notFinite: "new parameters" };

describe("too many skipped updates in a row", () => {
  it.each([
    [policy, "the policy's new parameters", "lower actor.lr (0.5) or bound gradients by actor.grad_clip"],
    [{ network: "critic", notFinite: "loss" }, "the critic's loss", "lower critic.lr (0.2) or critic.grad_clip (4)"],
    [
      { network: "policy", notFinite: "values" },
      "the critic's values",
      "lower critic.lr (0.2) or critic.grad_clip (4)",
    ],
    [{ network: "policy", notFinite: "rewards" }, "the window's rewards", "look at the rewards of the environments"],
  ] as const)("fail the run: %o", (untrained, what, toTry) => {
    const failure = NotFiniteFailure.trainingFailure(config, { count: 3, since: 4 }, untrained);
    expect([failure?.reason, failure?.message]).toEqual([
      "not_finite",
      `3 updates in a row, from step 4 on, could not be applied (not finite: ${what}); ${toTry}`,
    ]);
  });

  it("are as many as the limit, all of a shorter run, or never", () => {
    const isFailure = (max_skipped_updates: number, total_training_steps: number, count: number) =>
      NotFiniteFailure.trainingFailure(
        { ...config, trainer: { ...config.trainer, max_skipped_updates, total_training_steps } },
        { count, since: 1 },
        policy,
      ) !== null;
    expect([isFailure(3, 10, 2), isFailure(3, 10, 3), isFailure(3, 10, 4)]).toEqual([false, true, true]);
    expect([isFailure(3, 2, 1), isFailure(3, 2, 2)]).toEqual([false, true]);
    expect([isFailure(0, 10, 9), isFailure(0, 1, 1)]).toEqual([false, false]);
  });

  it("do not fail a step that had nothing to train, nor one that was trained", () => {
    expect(NotFiniteFailure.trainingFailure(config, { count: 3, since: 1 }, null)).toBeNull();
    expect(NotFiniteFailure.trainingFailure(config, null, policy)).toBeNull();
  });

  it("fail cloning at its own rate", () => {
    expect(NotFiniteFailure.cloningFailure(config, { count: 1, since: 1 }, "loss")).toBeNull();
    expect(NotFiniteFailure.cloningFailure(config, { count: 2, since: 1 }, "loss")?.message).toBe(
      "2 updates in a row, from step 1 on, could not be applied (not finite: the policy's loss); " +
        "lower sft.lr (0.7) or bound gradients by actor.grad_clip",
    );
  });
});

it("a failure of another kind stays as it is", () => {
  const died = new LearnerError({ reason: "thread_died", message: "gone" });
  const refused = new PolicyError({ reason: "bad_request", message: "no" });
  expect(NotFiniteFailure.learnerFailure(died, "runs/a")).toBe(died);
  expect(NotFiniteFailure.policyFailure(refused, null)).toBe(refused);
});
