import { Effect, Fiber } from "effect";
import { TestClock } from "effect/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as Pipeline from "../../src/flow/Pipeline.ts";
import * as Stage from "../../src/flow/Stage.ts";
import { assertProperty } from "../property.ts";

const virtually = <A, E>(program: Effect.Effect<A, E>): Promise<A> =>
  Effect.runPromise(Effect.provide(program, TestClock.layer()));

const changes = fc.array(
  fc.record({ after: fc.integer({ min: 1, max: 30 }), concurrency: fc.integer({ min: 1, max: 9 }) }),
  {
    maxLength: 12,
  },
);

describe("a concurrency that changes at any moment", () => {
  it("never starts an item above the number of the moment, and every item passes once", () =>
    assertProperty(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 1, max: 4 }),
        changes,
        (durations, inbox, changes) =>
          virtually(
            Effect.gen(function* () {
              let running = 0;
              const seen: number[] = [];
              const stage: Stage.Flow<number, number> = yield* Stage.flow({
                name: "changing",
                inbox,
                concurrency: 3,
                run: (index: number) =>
                  Effect.gen(function* () {
                    running++;
                    expect(running).toBeLessThanOrEqual(stage.concurrency());
                    yield* Effect.sleep(durations[index]!);
                    running--;
                    return index;
                  }),
              });
              const last = yield* Stage.flow({
                name: "last",
                inbox,
                concurrency: 1,
                run: (index: number) => Effect.sync(() => seen.push(index)),
              });
              const run = yield* Effect.forkChild(Pipeline.fromIterable(durations.keys()).to(stage).to(last).run);
              for (const { after, concurrency } of changes) {
                yield* TestClock.adjust(after);
                yield* stage.setConcurrency(concurrency);
              }
              yield* TestClock.adjust(1000);
              yield* Fiber.join(run);
              expect(seen.toSorted((a, b) => a - b)).toEqual([...durations.keys()]);
              const sample = stage.sample();
              expect(sample).toMatchObject({ running: 0, blocked: 0, queue: 0, items: durations.length });
              expect(sample.busyMs).toBeCloseTo(
                durations.reduce((sum, ms) => sum + ms, 0),
                6,
              );
            }),
          ),
      ),
      { numRuns: 40 },
    ));

  it("loses no slot of a service to failures and interruptions", () =>
    assertProperty(
      fc.asyncProperty(
        fc.array(
          fc.record({ ms: fc.integer({ min: 0, max: 10 }), fate: fc.constantFrom("succeed", "fail", "interrupt") }),
          { minLength: 1, maxLength: 40 },
        ),
        changes,
        (calls, changes) =>
          virtually(
            Effect.gen(function* () {
              const service = yield* Stage.service({
                name: "shared",
                concurrency: 2,
                run: ({ ms, fate }: (typeof calls)[number]) =>
                  Effect.andThen(Effect.sleep(ms), fate === "fail" ? Effect.fail("no") : Effect.void),
              });
              const fibers = yield* Effect.forEach(calls, (call) => Effect.forkChild(service.call(call)));
              for (const { after, concurrency } of changes) {
                yield* TestClock.adjust(after);
                yield* service.setConcurrency(concurrency);
              }
              yield* TestClock.adjust(3);
              yield* Effect.forEach(calls, ({ fate }, i) =>
                fate === "interrupt" ? Fiber.interrupt(fibers[i]!) : Effect.void,
              );
              yield* TestClock.adjust(1000);
              expect(service.sample()).toMatchObject({ running: 0, queue: 0 });
              yield* service.setConcurrency(2);
              const full = yield* Effect.forkChild(
                Effect.forEach([0, 1, 2], () => service.call({ ms: 5, fate: "succeed" }), { concurrency: 3 }),
              );
              yield* TestClock.adjust(1);
              expect(service.sample()).toMatchObject({ running: 2, queue: 1 });
              yield* Fiber.interrupt(full);
            }),
          ),
      ),
      { numRuns: 40 },
    ));
});
