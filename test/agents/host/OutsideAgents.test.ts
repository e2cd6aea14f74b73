import { assert, describe, it } from "@effect/vitest";
import { Effect, Fiber } from "effect";
import { TestClock } from "effect/testing";
import { EpisodeAccount } from "../../../src/agents/host/EpisodeAccount.ts";
import * as OutsideAgents from "../../../src/agents/host/OutsideAgents.ts";
import { order } from "./orders.ts";

const hostOf = () => OutsideAgents.make((seed, split) => `${split} ${seed}`, { openSeconds: 10, seconds: 60 });

describe("agents outside", () => {
  it.effect("open the episode that has waited longest, once, with its task", () =>
    Effect.gen(function* () {
      const host = hostOf();
      assert.isNull(host.open(null));
      const [first, second] = [new EpisodeAccount(), new EpisodeAccount()];
      const fibers = [
        yield* Effect.forkChild(host.play(order({ seed: 1 }), first)),
        yield* Effect.forkChild(host.play(order({ seed: 2, split: "val" }), second)),
      ];
      yield* Effect.yieldNow;
      yield* TestClock.adjust(0);
      assert.strictEqual(host.open("val")?.task, "val 2");
      assert.strictEqual(host.open(null)?.task, "train 1");
      assert.isNull(host.open(null));
      for (const [at, account] of [first, second].entries())
        account.reportEnd({ status: "done", message: "", outcome: { reward: at } });
      const results = yield* Effect.forEach(fibers, Fiber.join);
      assert.deepStrictEqual(
        results.map(({ rewards: { whole } }) => whole),
        [0, 1],
      );
    }),
  );

  it.effect("fail an episode as never_opened that nobody opens in time, and open it no more", () =>
    Effect.gen(function* () {
      const host = hostOf();
      const playing = yield* Effect.forkChild(Effect.flip(host.play(order(), new EpisodeAccount())));
      yield* TestClock.adjust("10 seconds");
      assert.include(yield* Fiber.join(playing), { reason: "never_opened", message: "no program opened it in 10 s" });
      assert.isNull(host.open(null));
    }),
  );

  it.effect("fail an opened episode that takes too long, counted from its opening", () =>
    Effect.gen(function* () {
      const host = hostOf();
      const playing = yield* Effect.forkChild(Effect.flip(host.play(order(), new EpisodeAccount())));
      yield* TestClock.adjust("9 seconds");
      host.open(null);
      yield* TestClock.adjust("59 seconds");
      assert.isUndefined(playing.pollUnsafe());
      yield* TestClock.adjust("1 seconds");
      assert.include(yield* Fiber.join(playing), { reason: "agent_timeout" });
    }),
  );
});
