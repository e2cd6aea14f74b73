import { describe, it } from "@effect/vitest";
import { Effect, Fiber, Layer } from "effect";
import { expect } from "vitest";
import { PolicyError } from "../../src/domain/Errors.ts";
import type { Prompt } from "../../src/domain/Group.ts";
import { type GenerateRequest, Policy } from "../../src/generation/Policy.ts";
import { CrashSuspects } from "../../src/rollout/CrashSuspects.ts";
import { localPlayer } from "../../src/rollout/GroupPlayer.ts";
import { samplingKey } from "../../src/rollout/keys.ts";
import type { PlayMode } from "../../src/rollout/Rollout.ts";
import { corridor, fakePolicy, rollout, training } from "./fakes.ts";

const promptOf = (group: number): Prompt => ({ group, tag: "FrozenLake", seed: group, size: 2, admittedAt: 0 });

const requestOf = (group: number, split: "train" | "val" = "train"): GenerateRequest => ({
  sequence: group,
  append: new Int32Array(1),
  sharedPrefix: 0,
  maxTokens: 1,
  sampling: { temperature: 1, topK: -1, topP: 1 },
  key: samplingKey(1, split, promptOf(group), 0, 1),
  pin: null,
});

/** A policy whose answers are `answer`, watched for `suspects`. */
const watchedPolicy = (suspects: CrashSuspects, answer: Parameters<typeof fakePolicy>[0]) =>
  Effect.map(Effect.provide(Policy, fakePolicy(answer).layer), (policy) => suspects.watch(policy));

const died = new PolicyError({ reason: "thread_died", message: "gone" });

describe("CrashSuspects", () => {
  it.effect("sets a group aside that was at the generator at two deaths, and no other", () =>
    Effect.gen(function* () {
      const suspects = new CrashSuspects();
      const attempt = Effect.fnUntraced(function* (waiting: readonly number[], failing: number) {
        const policy = yield* watchedPolicy(suspects, ({ key }) =>
          key.counters[0] === failing ? Effect.fail(died) : Effect.never,
        );
        const fibers = yield* Effect.forEach(waiting, (group) =>
          Effect.forkChild(policy.generate(requestOf(group)), { startImmediately: true }),
        );
        yield* Effect.exit(policy.generate(requestOf(failing)));
        yield* Fiber.interruptAll(fibers);
      });
      yield* attempt([1, 2], 3);
      expect([1, 2, 3].filter((group) => suspects.isQuarantined(group))).toEqual([]);
      yield* attempt([2, 4], 5);
      expect([1, 2, 3, 4, 5].filter((group) => suspects.isQuarantined(group))).toEqual([2]);
    }),
  );

  it.effect("counts neither a validation's requests nor other failures", () =>
    Effect.gen(function* () {
      const suspects = new CrashSuspects();
      const refused = new PolicyError({ reason: "bad_request", message: "no" });
      for (const [error, split] of [
        [died, "val"],
        [refused, "train"],
      ] as const) {
        for (let time = 0; time < 2; time++) {
          const policy = yield* watchedPolicy(suspects, () => Effect.fail(error));
          yield* Effect.exit(policy.generate(requestOf(7, split)));
        }
      }
      expect(suspects.isQuarantined(7)).toBe(false);
    }),
  );

  it.effect("passes the episodes of a group that it set aside through the mode's wrapper", () =>
    Effect.gen(function* () {
      const suspects = new CrashSuspects();
      suspects.count([7]);
      suspects.count([7]);
      let wrapped = 0;
      const mode: PlayMode = {
        ...training,
        wrapEpisode: (episode) => Effect.tap(episode, () => Effect.sync(() => wrapped++)),
      };
      const player = suspects.guard({ ...localPlayer, play: () => Effect.die("it is played") });
      const group = yield* player
        .play(rollout(), mode, promptOf(7))
        .pipe(Effect.provide(Layer.merge(fakePolicy(() => Effect.fail(died)).layer, corridor(() => 1).layer)));
      expect(group.episodes.map(({ outcome }) => outcome)).toMatchObject([
        { _tag: "Failed", reason: "generator_crashed" },
        { _tag: "Failed", reason: "generator_crashed" },
      ]);
      expect(wrapped).toBe(2);
    }),
  );

  it.effect("counts a death once that the run hears of before its requests do", () =>
    Effect.gen(function* () {
      const suspects = new CrashSuspects();
      for (const isQuarantined of [false, true]) {
        const policy = yield* watchedPolicy(suspects, () => Effect.never);
        const request = yield* Effect.forkChild(policy.generate(requestOf(7)), { startImmediately: true });
        yield* suspects.countDeath(died);
        yield* suspects.countDeath(died);
        yield* Fiber.interrupt(request);
        expect(suspects.isQuarantined(7)).toBe(isQuarantined);
      }
    }),
  );
});
