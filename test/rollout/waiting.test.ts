/**
 * Groups of environments that wait, beside pure ones: episodes are the same wherever their transitions are made, one that fails costs
 * itself, and however an episode ends, nothing stays open on the other side.
 */
import { describe, expect, it } from "@effect/vitest";
import { Effect, Exit, Fiber, Layer } from "effect";
import { TestClock } from "effect/testing";
import { PolicyError } from "../../src/domain/Errors.ts";
import type { Prompt } from "../../src/domain/Group.ts";
import type { AnyEnvironment, BoundEnvironment } from "../../src/env/contract/BoundEnvironment.ts";
import { layerInline } from "../../src/env/pool/StepPool.ts";
import * as Group from "../../src/rollout/group.ts";
import * as Seeds from "../../src/rollout/seeds.ts";
import { type RemoteOptions, remote, untilAborted } from "../env/asynchronous/remote.ts";
import { fakePolicy, limits, prompt, reach, rollout, sampled, scripted, training } from "./fakes.ts";

const right = "t</think><answer>Right</answer>";

interface Walk {
  readonly at: number;
  readonly length: number;
}

/** Walk Right to the end of a corridor as long as the instance says, at most three. */
const corridor: BoundEnvironment = {
  type: "corridor",
  asynchronous: false,
  legend: "",
  wholeAnswer: false,
  wholeRewards: false,
  actionsInState: false,
  lacks: null,
  report: null,
  prepare: null,
  solve: null,
  advise: null,
  thought: () => "",
  reset: (instance): Walk => ({ at: 0, length: 1 + instance.int(3) }),
  step: (state, action) => {
    const { at, length } = state as Walk;
    const after = Math.max(0, at + (action === "Right" ? 1 : -1));
    const success = after >= length;
    return {
      state: { at: after, length },
      reward: success ? 1 : -0.1,
      terminated: success,
      truncated: false,
      info: { success, action_is_effective: after !== at, action_is_valid: true },
    };
  },
  render: (state) => `at ${(state as Walk).at} of ${(state as Walk).length}`,
  compact: (state) => `${(state as Walk).at}/${(state as Walk).length}`,
  actions: () => ["Left", "Right"],
  contentKey: (state) => `${(state as Walk).length}`,
};

/** Corridors far away, `Far`, beside near ones, `Near`. */
const bothCorridors = (options: RemoteOptions = {}) => {
  const { environment, side } = remote(corridor, options);
  const environments = layerInline(
    new Map<string, AnyEnvironment>([
      ["Far", environment],
      ["Near", corridor],
    ]),
  );
  return { environments, side };
};

const tasks = new Map(["Far", "Near"].map((tag) => [tag, { ...reach, tag }]));
const both = { ...rollout(limits), tasks };
const far: Prompt = { ...prompt, tag: "Far", size: 4 };

/** Lets every promise that can settle do so, and everything that waits for it go on. */
const settle = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)));

describe("groups of mixed tags", () => {
  it.effect("are played to the end, those of a tag that waits as those of its pure twin", () => {
    const { environments, side } = bothCorridors({ capacity: 3 });
    return Effect.gen(function* () {
      const groups = {
        env_groups: 6,
        group_size: 2,
        tags: ["Near", "Far"],
        n_groups: [2, 4],
        seed: 100,
        levels: {},
      } as const;
      const prompts = Seeds.validation(groups, 0, 0);
      const play = Effect.forEach(prompts, (each) => Group.play(both, training, each), { concurrency: "unbounded" });
      const playedGroups = yield* Effect.provide(play, Layer.merge(scripted(right).layer, environments));
      expect(playedGroups.map((group) => group.prompt.tag)).toEqual(["Near", "Near", "Far", "Far", "Far", "Far"]);
      const twins = Effect.forEach(prompts, (each) => Group.play(both, training, { ...each, tag: "Near" }));
      const near = yield* Effect.provide(twins, Layer.merge(scripted(right).layer, environments));
      const seen = (episodes: typeof playedGroups) =>
        episodes.flatMap((group) => group.episodes.map(({ id, outcome, sequences }) => ({ id, outcome, sequences })));
      expect(seen(playedGroups)).toEqual(seen(near));
      expect(side).toMatchObject({ opened: 8, most: 3, twice: 0 });
      expect(side.open.size).toBe(0);
    });
  });

  it.effect("go on where the other side hangs", () => {
    const { environments, side } = bothCorridors({ timeoutMs: 100, behave: (_, signal) => untilAborted(signal) });
    return Effect.gen(function* () {
      const near = yield* Group.play(both, training, { ...far, tag: "Near" });
      expect(near.episodes.map((episode) => episode.outcome._tag)).toEqual(Array(4).fill("Done"));
      const fiber = yield* Effect.forkChild(Group.play(both, training, far));
      yield* settle;
      yield* TestClock.adjust(100);
      const group = yield* Fiber.join(fiber);
      expect(group.episodes.map((episode) => episode.outcome)).toEqual(
        Array(4).fill({ _tag: "Failed", reason: "step_timeout", message: "no answer after 100 ms" }),
      );
      expect(side.aborted).toBe(1);
    }).pipe(Effect.provide(Layer.merge(scripted(right).layer, environments)));
  });
});

describe("nothing stays open on the other side", () => {
  it.effect("after success, nor after the last turn", () => {
    const { environments, side } = bothCorridors();
    const left = "t</think><answer>Left</answer>";
    return Effect.gen(function* () {
      const done = yield* Effect.provide(Group.play(both, training, far), scripted(right).layer);
      const spent = yield* Effect.provide(Group.play(both, training, far), scripted(left).layer);
      expect(done.episodes[0]!.outcome).toEqual({ _tag: "Done", success: true });
      expect(spent.episodes[0]!.outcome).toMatchObject({ _tag: "Truncated", reason: "max_turn" });
      expect(side).toMatchObject({ opened: 8, twice: 0 });
      expect(side.open.size).toBe(0);
    }).pipe(Effect.provide(environments));
  });

  it.effect("after a failed step, which costs no other member", () => {
    let steps = 0;
    const { environments, side } = bothCorridors({
      behave: async (action) => {
        if (action === "Left" && ++steps === 6) throw new Error("the server is gone");
      },
    });
    const left = "t</think><answer>Left</answer>";
    return Effect.gen(function* () {
      const group = yield* Group.play(both, training, far);
      const failures = group.episodes.filter((episode) => episode.outcome._tag === "Failed");
      expect(failures.map((episode) => episode.outcome)).toEqual([
        { _tag: "Failed", reason: "step_error", message: "the server is gone" },
      ]);
      expect(side).toMatchObject({ opened: 4, twice: 0 });
      expect(side.open.size).toBe(0);
    }).pipe(Effect.provide(Layer.merge(scripted(left).layer, environments)));
  });

  it.effect("after a step that takes too long", () => {
    let steps = 0;
    const { environments, side } = bothCorridors({
      timeoutMs: 100,
      behave: (action, signal) => (action === "Left" && ++steps === 6 ? untilAborted(signal) : Promise.resolve()),
    });
    return Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(Group.play(both, training, far));
      yield* settle;
      expect(side.open.size).toBe(1);
      yield* TestClock.adjust(100);
      const { episodes } = yield* Fiber.join(fiber);
      const reasons = episodes.map(({ outcome }) => (outcome._tag === "Failed" ? outcome.reason : outcome._tag));
      expect(reasons.toSorted()).toEqual(["Truncated", "Truncated", "Truncated", "step_timeout"]);
      expect(side).toMatchObject({ opened: 4, twice: 0, aborted: 1 });
      expect(side.open.size).toBe(0);
    }).pipe(Effect.provide(Layer.merge(scripted("t</think><answer>Left</answer>").layer, environments)));
  });

  it.effect.each([
    { where: "in a step", reply: () => Effect.succeed(sampled("t</think><answer>Left</answer>")), hangs: true },
    {
      where: "in a reply",
      reply: (turn: number) => (turn === 1 ? Effect.succeed(sampled("t</think><answer>Left</answer>")) : Effect.never),
      hangs: false,
    },
  ])("after an interruption $where", ({ reply, hangs }) => {
    let steps = 0;
    const { environments, side } = bothCorridors({
      capacity: 3,
      behave: (action, signal) =>
        hangs && action === "Left" && ++steps > 4 ? untilAborted(signal) : Promise.resolve(),
    });
    const policy = fakePolicy((_, turn) => reply(turn));
    return Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(Group.play(both, training, far));
      yield* settle;
      expect(side.open.size).toBe(4);
      yield* Fiber.interrupt(fiber);
      expect(side).toMatchObject({ opened: 4, twice: 0, inFlight: 0 });
      expect(side.open.size).toBe(0);
    }).pipe(Effect.provide(Layer.merge(policy.layer, environments)));
  });

  it.effect("after a failure of the policy", () => {
    const { environments, side } = bothCorridors();
    const policy = fakePolicy((_, turn) =>
      turn === 1
        ? Effect.succeed(sampled("t</think><answer>Left</answer>"))
        : Effect.fail(new PolicyError({ reason: "thread_died", message: "gone" })),
    );
    return Effect.gen(function* () {
      const exit = yield* Effect.exit(Group.play(both, training, far));
      expect(Exit.isFailure(exit)).toBe(true);
      expect(side.opened).toBeGreaterThan(0);
      expect(side.open.size).toBe(0);
    }).pipe(Effect.provide(Layer.merge(policy.layer, environments)));
  });
});
