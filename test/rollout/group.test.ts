import { describe, expect, it } from "@effect/vitest";
import { Deferred, Effect, Layer } from "effect";
import { isFailed } from "../../src/domain/Group.ts";
import * as Group from "../../src/rollout/group.ts";
import type { PlayMode } from "../../src/rollout/Rollout.ts";
import { corridor, fakePolicy, prompt, rollout, sampled, scripted, training } from "./fakes.ts";

const right = "t</think><answer>Right</answer>";

describe("a group", () => {
  it.effect("resets once and starts every member from the same state", () =>
    Effect.gen(function* () {
      const policy = scripted(right);
      const environments = corridor(() => 1);
      const group = yield* Group.play(rollout(), training, prompt).pipe(
        Effect.provide(Layer.merge(policy.layer, environments.layer)),
      );
      expect(environments.resets).toEqual([10_003]);
      expect(group.episodes.map((episode) => episode.id)).toEqual([
        { group: 3, member: 0 },
        { group: 3, member: 1 },
      ]);
      expect(new Set(policy.requests.map((request) => request.sequence)).size).toBe(2);
    }),
  );

  it.effect("shares its whole opening where it is large", () =>
    Effect.gen(function* () {
      const policy = scripted(right);
      yield* Group.play(rollout(), training, { ...prompt, size: 4 }).pipe(
        Effect.provide(Layer.merge(policy.layer, corridor(() => 1).layer)),
      );
      expect(policy.requests.map(({ append, sharedPrefix }) => sharedPrefix === append.length)).toEqual(
        Array(4).fill(true),
      );
    }),
  );

  it.effect("plays its members at the same time", () =>
    Effect.gen(function* () {
      const both = yield* Deferred.make<void>();
      let calls = 0;
      const policy = fakePolicy(() =>
        Effect.gen(function* () {
          calls++;
          if (calls === 2) yield* Deferred.succeed(both, undefined);
          yield* Deferred.await(both);
          return sampled(right);
        }),
      );
      const group = yield* Group.play(rollout(), training, prompt).pipe(
        Effect.provide(Layer.merge(policy.layer, corridor(() => 1).layer)),
      );
      expect(group.episodes.length).toBe(2);
    }),
  );

  it.effect("loses only the member whose step fails", () =>
    Effect.gen(function* () {
      const environments = corridor(
        () => 1,
        (request) =>
          request?.noise.counters[1] === 1 ? { _tag: "StepFailure", reason: "step_error", message: "boom" } : null,
      );
      const group = yield* Group.play(rollout(), training, { ...prompt, size: 3 }).pipe(
        Effect.provide(Layer.merge(scripted(right).layer, environments.layer)),
      );
      expect(group.episodes.map((episode) => episode.outcome._tag)).toEqual(["Done", "Failed", "Done"]);
    }),
  );

  it.effect("is a failed group when its reset fails", () =>
    Effect.gen(function* () {
      const environments = corridor(
        () => 1,
        () => ({ _tag: "StepFailure", reason: "step_crashed", message: "exit 3" }),
      );
      const policy = scripted(right);
      const group = yield* Group.play(rollout(), training, prompt).pipe(
        Effect.provide(Layer.merge(policy.layer, environments.layer)),
      );
      expect(isFailed(group)).toBe(true);
      expect(group.episodes.length).toBe(2);
      expect(group.contentKey).toBeUndefined();
      expect(policy.requests).toEqual([]);
    }),
  );

  it.effect("passes every episode through the mode's wrapper, also where the reset failed", () =>
    Effect.gen(function* () {
      let wrapped = 0;
      const mode: PlayMode = {
        ...training,
        wrapEpisode: (episode) =>
          Effect.andThen(
            Effect.sync(() => wrapped++),
            episode,
          ),
      };
      const broken = corridor(
        () => 1,
        () => ({ _tag: "StepFailure", reason: "step_error", message: "" }),
      );
      for (const environments of [corridor(() => 1), broken]) {
        yield* Group.play(rollout(), mode, prompt).pipe(
          Effect.provide(Layer.merge(scripted(right).layer, environments.layer)),
        );
      }
      expect(wrapped).toBe(4);
    }),
  );

  it.effect("moves its seed past excluded instances by a fixed stride", () =>
    Effect.gen(function* () {
      const stride = 2 ** 32;
      const environments = corridor((seed) => 1 + Math.floor(seed / stride));
      const mode: PlayMode = { ...training, isExcluded: (key) => key !== "corridor 3" };
      const group = yield* Group.play(rollout(), mode, prompt).pipe(
        Effect.provide(Layer.merge(scripted(right).layer, environments.layer)),
      );
      expect(environments.resets).toEqual([10_003, 10_003 + stride, 10_003 + 2 * stride]);
      expect(group.episodes[0]!.seed).toBe(10_003 + 2 * stride);
      expect(group.prompt.seed).toBe(10_003);
      expect(group.contentKey).toBe("corridor 3");
      expect(group.heldOut).toBeUndefined();
    }),
  );

  it.effect("plays the instance it has when every one is excluded, and says so", () =>
    Effect.gen(function* () {
      const environments = corridor(() => 1);
      const group = yield* Group.play(rollout(), { ...training, isExcluded: () => true }, prompt).pipe(
        Effect.provide(Layer.merge(scripted(right).layer, environments.layer)),
      );
      expect(environments.resets.length).toBe(32);
      expect(group.episodes.length).toBe(2);
      expect(group.heldOut).toBe(true);
    }),
  );
});
