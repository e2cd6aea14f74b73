import { describe, it } from "@effect/vitest";
import { Effect, Fiber } from "effect";
import { TestClock } from "effect/testing";
import { expect } from "vitest";
import * as Barrier from "../../../src/flow/admission/Barrier.ts";
import * as Stage from "../../../src/flow/Stage.ts";

describe("lockstep's barrier", () => {
  it.effect("serves a turn only when every live episode has asked, and the live set shrinks as episodes end", () =>
    Effect.gen(function* () {
      const barrier = yield* Barrier.make;
      const served: string[] = [];
      const generate = yield* Stage.service({
        name: "generate",
        concurrency: 10,
        run: (call: string) => Effect.sync(() => served.push(call)),
      });
      // Episode e takes e+1 turns; between turns it steps for e+1 ms.
      const episode = (e: number) =>
        barrier.wrapEpisode(
          Effect.gen(function* () {
            for (let turn = 0; turn <= e; turn++) {
              yield* Effect.andThen(barrier.arrive, generate.call(`${turn}.${e}`));
              yield* Effect.sleep(e + 1);
            }
          }),
        );
      yield* barrier.expect(3);
      const all = yield* Effect.forkChild(Effect.forEach([0, 1, 2], episode, { concurrency: "unbounded" }));
      yield* TestClock.adjust(2.5);
      expect(served).toEqual(["0.0", "0.1", "0.2"]);
      yield* TestClock.adjust(1);
      expect(served.slice(3)).toEqual(["1.1", "1.2"]);
      yield* TestClock.adjust(10);
      yield* Fiber.join(all);
      expect(served.slice(5)).toEqual(["2.2"]);
    }),
  );

  it.effect("counts out an episode that is interrupted while it waits", () =>
    Effect.gen(function* () {
      const barrier = yield* Barrier.make;
      yield* barrier.expect(2);
      const waiting = yield* Effect.forkChild(barrier.wrapEpisode(barrier.arrive));
      const stuck = yield* Effect.forkChild(barrier.wrapEpisode(Effect.never));
      yield* TestClock.adjust(1);
      yield* Fiber.interrupt(stuck);
      yield* Fiber.join(waiting);
    }),
  );
});
