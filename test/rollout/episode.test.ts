import { describe, expect, it } from "@effect/vitest";
import { Deferred, Effect, Exit, Fiber, Layer } from "effect";
import { succeeded, turnsOf } from "../../src/domain/Episode.ts";
import { PolicyError } from "../../src/domain/Errors.ts";
import * as Group from "../../src/rollout/group.ts";
import type { Rollout } from "../../src/rollout/Rollout.ts";
import {
  corridor,
  decode,
  encode,
  endId,
  type FakeEnvironments,
  type FakePolicy,
  fakePolicy,
  prompt,
  reach,
  rollout,
  sampled,
  scripted,
  training,
} from "./fakes.ts";

const right = "t</think><answer>Right</answer>";
const rightTwice = "t</think><answer>Right || right</answer>";
const alone = { ...prompt, size: 1 };

const playAlone = (policy: FakePolicy, environments: FakeEnvironments, with_: Rollout = rollout()) =>
  Group.play(with_, training, alone).pipe(
    Effect.map((group) => group.episodes[0]!),
    Effect.provide(Layer.merge(policy.layer, environments.layer)),
  );

describe("an episode", () => {
  it.effect("is done when its environment terminates", () =>
    Effect.gen(function* () {
      const episode = yield* playAlone(
        scripted(right),
        corridor(() => 2),
      );
      expect(episode.outcome).toEqual({ _tag: "Done", success: true });
      expect(turnsOf(episode).map((turn) => turn.reward)).toEqual([-0.1, 1]);
    }),
  );

  it.effect(
    "records which ids of a reply are its thought, and none where there is no thought or none could be read",
    () =>
      Effect.gen(function* () {
        const replies = ["go on</think><answer>Right</answer>", " </think><answer>Right</answer>", "go on"];
        const episode = yield* playAlone(
          scripted(...replies),
          corridor(() => 9),
        );
        const turns = turnsOf(episode);
        expect(turns.map(({ thought }) => thought)).toEqual([[0, 5], undefined, undefined]);
        expect(turns.slice(1).some((turn) => "thought" in turn)).toBe(false);
      }),
  );

  it.effect("takes an answer as one action where its task says so", () =>
    Effect.gen(function* () {
      const environments = corridor(() => 2);
      const whole = rollout({}, { ...reach, wholeAnswer: true });
      const episode = yield* playAlone(scripted(rightTwice, right, right), environments, whole);
      expect(turnsOf(episode).map(({ actions }) => actions)).toEqual([[], ["Right"], ["Right"]]);
      expect(turnsOf(episode)[0]!.penalty).toBe(-0.1);
    }),
  );

  it.effect("is done, not truncated, when the last allowed action solves it", () =>
    Effect.gen(function* () {
      const episode = yield* playAlone(
        scripted(rightTwice),
        corridor(() => 4),
      );
      expect(episode.outcome).toEqual({ _tag: "Done", success: true });
      expect(succeeded(episode)).toBe(true);
    }),
  );

  it.effect("is truncated when its actions are spent, the last turn cut without a penalty", () =>
    Effect.gen(function* () {
      const policy = scripted(right, rightTwice);
      const episode = yield* playAlone(
        policy,
        corridor(() => 9),
      );
      expect(episode.outcome).toEqual({ _tag: "Truncated", reason: "max_actions", success: false });
      expect(turnsOf(episode).map((turn) => turn.executed)).toEqual([1, 2, 1]);
      expect(turnsOf(episode)[2]).toMatchObject({ actions: ["Right", "Right"], penalty: 0 });
    }),
  );

  it.effect("is truncated after its turns; unreadable replies step nothing and are penalised once each", () =>
    Effect.gen(function* () {
      const environments = corridor(() => 9);
      const episode = yield* playAlone(scripted("nonsense"), environments);
      expect(episode.outcome).toEqual({ _tag: "Truncated", reason: "max_turn", success: false });
      expect(turnsOf(episode).map(({ parsed, penalty, executed }) => ({ parsed, penalty, executed }))).toEqual(
        Array(3).fill({ parsed: false, penalty: -0.1, executed: 0 }),
      );
      expect(environments.steps).toEqual([]);
    }),
  );

  it.effect("is truncated before a prompt that leaves no room for the reply", () =>
    Effect.gen(function* () {
      const policy = scripted(right);
      const first = yield* playAlone(
        policy,
        corridor(() => 9),
      );
      const needed = turnsOf(first)[0]!.prompt.length + 100;
      const fits = yield* playAlone(
        scripted(right),
        corridor(() => 9),
        rollout({ max_model_len: needed }),
      );
      expect(fits.outcome).toEqual({ _tag: "Truncated", reason: "context", success: false });
      expect(turnsOf(fits).length).toBe(1);
      const none = yield* playAlone(
        scripted(right),
        corridor(() => 9),
        rollout({ max_model_len: needed - 1 }),
      );
      expect(turnsOf(none)).toEqual([]);
      expect(none).not.toHaveProperty("final");
    }),
  );

  it.effect.each([
    ["the environment's end", right, 2, {}, "2/2"],
    ["its last action", rightTwice, 9, {}, "4/9"],
    ["its last turn, in which nothing moved", "nonsense", 9, {}, "0/9"],
    ["its context", right, 9, { max_model_len: 150 }, "1/9"],
  ] as const)("tells the state after %s as a turn would show it", ([_, reply, length, limits, final]) =>
    Effect.gen(function* () {
      const environments = corridor(() => length);
      const episode = yield* playAlone(scripted(reply), environments, rollout({ ...limits, template: "compact" }));
      expect(turnsOf(episode)[0]!.state).toBe(`0/${length}`);
      expect(episode.final).toBe(final);
    }),
  );

  it.effect("sends ids that, with the sampled ones, spell the whole chat once", () =>
    Effect.gen(function* () {
      const policy = scripted(right);
      const episode = yield* playAlone(
        policy,
        corridor(() => 2),
        rollout({ template: "compact" }),
      );
      const history = turnsOf(episode)
        .map((turn) => decode(turn.prompt) + decode(turn.sampled.ids))
        .join("");
      expect(history).toBe(`[S]corridor[U]0/2\n4[A]<think>${right}<end>[U]1/2\n3[A]<think>${right}<end>`);
      expect(policy.requests.map((request) => request.append)).toEqual(turnsOf(episode).map((turn) => turn.prompt));
    }),
  );

  it.effect("forces the end token in the bridge after a reply that lacks it", () =>
    Effect.gen(function* () {
      const policy = fakePolicy(() => Effect.succeed(sampled("t</think><answer>Right</answer>", false)));
      const episode = yield* playAlone(
        policy,
        corridor(() => 2),
      );
      expect(turnsOf(episode)[1]!.prompt[0]).toBe(endId);
      expect(turnsOf(episode)[0]!.sampled.ids.includes(endId)).toBe(false);
    }),
  );

  it.effect("puts the glued prefix back and leaves the end token out of the reply's text", () =>
    Effect.gen(function* () {
      const episode = yield* playAlone(
        scripted(right),
        corridor(() => 1),
      );
      expect(turnsOf(episode)[0]!.reply).toBe(`<think>${right}`);
    }),
  );

  it.effect("shares the system message with others, in its opening only", () =>
    Effect.gen(function* () {
      const policy = scripted(right);
      yield* playAlone(
        policy,
        corridor(() => 2),
        rollout({ template: "compact" }),
      );
      expect(policy.requests.map((request) => request.sharedPrefix)).toEqual([encode("[S]corridor[U]").length, 0]);
    }),
  );

  it.effect("names its instance to the environment in every turn, as it was when it was reset", () =>
    Effect.gen(function* () {
      const environments = corridor(() => 2);
      yield* playAlone(scripted(right), environments);
      expect(environments.steps.map(({ instance }) => instance)).toEqual(["corridor 2", "corridor 2"]);
    }),
  );

  it.effect("draws every turn from streams of its own", () =>
    Effect.gen(function* () {
      const policy = scripted(right);
      const environments = corridor(() => 2);
      yield* playAlone(policy, environments);
      expect(policy.requests.map((request) => request.key)).toEqual([
        { seed: 7, purpose: "sampling", counters: [3, 0, 1] },
        { seed: 7, purpose: "sampling", counters: [3, 0, 2] },
      ]);
      expect(environments.steps.map((request) => request.noise.counters)).toEqual([
        [3, 0, 1],
        [3, 0, 2],
      ]);
    }),
  );

  it.effect("fails as data when a step does, keeping the reply, and releases its sequence", () =>
    Effect.gen(function* () {
      const policy = scripted(right);
      const environments = corridor(
        () => 2,
        (request) => (request === null ? null : { _tag: "StepFailure", reason: "step_timeout", message: "5000 ms" }),
      );
      const episode = yield* playAlone(policy, environments);
      expect(episode.outcome).toEqual({ _tag: "Failed", reason: "step_timeout", message: "5000 ms" });
      expect(turnsOf(episode).length).toBe(1);
      expect(episode).not.toHaveProperty("final");
      expect(policy.released).toEqual([3]);
    }),
  );

  it.effect("fails the run when the policy does, and releases its sequence", () =>
    Effect.gen(function* () {
      const policy = fakePolicy(() => Effect.fail(new PolicyError({ reason: "thread_died", message: "gone" })));
      const exit = yield* Effect.exit(
        playAlone(
          policy,
          corridor(() => 2),
        ),
      );
      expect(Exit.isFailure(exit)).toBe(true);
      expect(policy.released).toEqual([3]);
    }),
  );

  it.effect("releases its sequence when interrupted", () =>
    Effect.gen(function* () {
      const called = yield* Deferred.make<void>();
      const policy = fakePolicy(() => Effect.andThen(Deferred.succeed(called, undefined), Effect.never));
      const fiber = yield* Effect.forkChild(
        playAlone(
          policy,
          corridor(() => 2),
        ),
      );
      yield* Deferred.await(called);
      yield* Fiber.interrupt(fiber);
      expect(policy.released).toEqual([3]);
    }),
  );
});
