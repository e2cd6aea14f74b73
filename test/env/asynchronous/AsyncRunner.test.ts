/** The runtime of asynchronous environments: order and number of requests in flight, time limits, and releases. */
import { describe, expect, it } from "@effect/vitest";
import { Effect, Fiber, Layer } from "effect";
import { TestClock } from "effect/testing";
import type { AnyEnvironment } from "../../../src/env/contract/BoundEnvironment.ts";
import { Environments, type StepRequest } from "../../../src/env/contract/Environments.ts";
import { layerInline, layerThreads, StepPool } from "../../../src/env/pool/StepPool.ts";
import { outcome } from "../contract/stepping.ts";
import { counter } from "../pool/fixtures/registry.ts";
import { gate, type RemoteOptions, remote, untilAborted } from "./remote.ts";

const instance = { seed: 5, purpose: "instance", counters: [] } as const;

const request = (state: unknown, ...actions: readonly string[]): StepRequest => ({
  tag: "Far",
  state,
  actions,
  noise: { seed: 1, purpose: "noise", counters: [0, 0, 1] },
});

/** A counter far away, `Far`, beside one on this thread, `Near`. */
const bothCounters = (options: RemoteOptions = {}) => {
  const { environment, side } = remote(counter, options);
  const layer = layerInline(
    new Map<string, AnyEnvironment>([
      ["Far", environment],
      ["Near", counter],
    ]),
  );
  const start = { session: null, inner: { n: 1 } };
  return { layer, side, start };
};

/** Lets every promise that can settle do so, and the fibers that wait for it run. */
const settle = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)));

describe("an asynchronous environment", () => {
  it.effect("answers what its pure twin answers", () => {
    const { layer } = bothCounters();
    return Effect.gen(function* () {
      const environments = yield* Environments;
      const answersOf = (tag: string) =>
        Effect.gen(function* () {
          const { state, ...view } = yield* environments.reset({ tag, instance, split: "train" });
          const first = tag === "Far" ? { session: null, inner: { n: 40 } } : { n: 40 };
          const results = yield* Effect.forEach(
            [
              ["1", "noise"],
              ["1", "1", "end"],
              ["2", "5"],
              ["60", "7"],
            ],
            (actions) =>
              Effect.map(environments.step({ ...request(first, ...actions), tag }), (result) => {
                const { state: _, ...seen } = result.view;
                return { ...result, view: seen };
              }),
          );
          const refused = yield* Effect.flip(environments.reset({ tag, instance, split: "val" }));
          return { view, results, refused };
        });
      const far = yield* answersOf("Far");
      const near = yield* answersOf("Near");
      expect(far).toEqual(near);
      expect(far.results.map(({ executed }) => executed)).toEqual([2, 3, 1, 1]);
    }).pipe(Effect.provide(layer));
  });

  it.effect("has no more requests in flight than it allows, and takes them in the order they came", () => {
    const gates = [gate(), gate(), gate(), gate()];
    let calls = 0;
    const { layer, side, start } = bothCounters({
      capacity: 2,
      behave: () => gates[calls++]?.opened ?? Promise.resolve(),
    });
    return Effect.gen(function* () {
      const fibers = yield* Effect.forEach(["1", "2", "3", "4"], (action) =>
        Effect.forkChild(outcome(request(start, action)), { startImmediately: true }),
      );
      yield* settle;
      expect(side.asked).toEqual(["1", "2"]);
      gates[1]!.open();
      yield* settle;
      expect(side.asked).toEqual(["1", "2", "3"]);
      for (const { open } of gates) open();
      expect(yield* Effect.forEach(fibers, Fiber.join)).toEqual(["n=2", "n=3", "n=4", "n=5"]);
      expect(side).toMatchObject({ asked: ["1", "2", "3", "4"], most: 2 });
    }).pipe(Effect.provide(layer));
  });

  it.effect("does not keep pure environments waiting", () => {
    const { layer, start } = bothCounters({ capacity: 1, behave: (_, signal) => untilAborted(signal) });
    return Effect.gen(function* () {
      const stuck = yield* Effect.forEach(["1", "2"], (action) => Effect.forkChild(outcome(request(start, action))));
      yield* settle;
      expect(yield* outcome({ ...request({ n: 1 }, "1"), tag: "Near" })).toBe("n=2");
      yield* Effect.forEach(stuck, Fiber.interrupt);
    }).pipe(Effect.provide(layer));
  });

  it.effect("fails a step that takes too long, and only that one, counted from when it began", () => {
    const { layer, side, start } = bothCounters({
      capacity: 1,
      timeoutMs: 100,
      behave: (action, signal) => (action === "5" ? untilAborted(signal) : Promise.resolve()),
    });
    return Effect.gen(function* () {
      const slow = yield* Effect.forkChild(outcome(request(start, "5")), { startImmediately: true });
      const after = yield* Effect.forkChild(outcome(request(start, "1")), { startImmediately: true });
      yield* settle;
      yield* TestClock.adjust(99);
      expect(side.aborted).toBe(0);
      yield* TestClock.adjust(1);
      expect(yield* Fiber.join(slow)).toBe("step_timeout");
      expect(side.aborted).toBe(1);
      expect(yield* Fiber.join(after)).toBe("n=2");
    }).pipe(Effect.provide(layer));
  });

  it.effect("gives each action of a request its own time", () => {
    let stay = gate();
    const behave = (action: string) => (action === "release" ? Promise.resolve() : stay.opened);
    const { layer, start } = bothCounters({ timeoutMs: 100, behave });
    return Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(outcome(request(start, "1", "2")), { startImmediately: true });
      for (let action = 0; action < 2; action++) {
        yield* settle;
        yield* TestClock.adjust(80);
        const { open } = stay;
        stay = gate();
        open();
      }
      expect(yield* Fiber.join(fiber)).toBe("n=4");
    }).pipe(Effect.provide(layer));
  });

  it.effect("fails a step that is refused, and only that one, with what was said", () => {
    const { layer, start } = bothCounters({
      behave: (action) => (action === "5" ? Promise.reject(new Error("no such goods")) : Promise.resolve()),
    });
    return Effect.gen(function* () {
      const environments = yield* Environments;
      const steps = ["1", "5", "2"].map((action) => outcome(request(start, action)));
      expect(yield* Effect.all(steps, { concurrency: "unbounded" })).toEqual(["n=2", "step_error", "n=3"]);
      expect(yield* Effect.flip(environments.step(request(start, "5")))).toMatchObject({ message: "no such goods" });
      expect(yield* outcome(request(start, "throw"))).toBe("step_error");
    }).pipe(Effect.provide(layer));
  });

  it.effect("fails a step whose state cannot be shown", () => {
    const { environment, side } = remote({
      ...counter,
      render: () => {
        throw new Error("no picture");
      },
    });
    return Effect.gen(function* () {
      expect(yield* outcome(request({ session: null, inner: { n: 1 } }, "1"))).toBe("step_error");
      expect([...side.open]).toEqual([]);
    }).pipe(Effect.provide(layerInline(new Map([["Far", environment]]))));
  });

  it.effect("is told when its caller is interrupted", () => {
    const { layer, side, start } = bothCounters({ behave: (_, signal) => untilAborted(signal) });
    return Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(outcome(request(start, "1")), { startImmediately: true });
      yield* settle;
      yield* Fiber.interrupt(fiber);
      expect(side.aborted).toBe(1);
    }).pipe(Effect.provide(layer));
  });
});

describe("what an episode holds elsewhere", () => {
  it.effect("is given back once, by the last state, and the instance holds nothing", () => {
    const { layer, side, start } = bothCounters();
    return Effect.gen(function* () {
      const environments = yield* Environments;
      yield* environments.release("Far", start);
      const { view } = yield* environments.step(request(start, "1"));
      const last = yield* environments.step(request(view.state, "1"));
      expect(side.open.size).toBe(1);
      yield* environments.release("Far", last.view.state);
      yield* environments.release("Far", last.view.state);
      yield* environments.release("Far", view.state);
      yield* environments.release("Near", { n: 1 });
      expect(side).toMatchObject({ asked: ["1", "1", "release"], twice: 0 });
      expect(side.open.size).toBe(0);
    }).pipe(Effect.provide(layer));
  });

  it.effect("is given back by the step that fails with it, also half-way through its actions", () => {
    const { layer, side, start } = bothCounters({
      behave: (action) => (action === "5" ? Promise.reject(new Error("refused")) : Promise.resolve()),
    });
    return Effect.gen(function* () {
      const environments = yield* Environments;
      expect(yield* outcome(request(start, "1", "5"))).toBe("step_error");
      expect(side.open.size).toBe(0);
      const { view } = yield* environments.step(request(start, "1"));
      expect(yield* outcome(request(view.state, "5"))).toBe("step_error");
      expect(side.open.size).toBe(0);
      yield* environments.release("Far", view.state);
      expect(side.twice).toBe(0);
    }).pipe(Effect.provide(layer));
  });

  it.effect("is given back by the step that is interrupted, and by the one that still waited for its turn", () => {
    const { layer, side, start } = bothCounters({
      capacity: 1,
      behave: (action, signal) => (action === "5" ? untilAborted(signal) : Promise.resolve()),
    });
    return Effect.gen(function* () {
      const environments = yield* Environments;
      const [one, two] = yield* Effect.all([
        environments.step(request(start, "1")),
        environments.step(request(start, "1")),
      ]);
      const stuck = yield* Effect.forkChild(outcome(request(one.view.state, "5")), { startImmediately: true });
      const waiting = yield* Effect.forkChild(outcome(request(two.view.state, "1")), { startImmediately: true });
      yield* settle;
      yield* Fiber.interrupt(waiting);
      yield* Fiber.interrupt(stuck);
      expect(side.open.size).toBe(1);
      yield* environments.release("Far", two.view.state);
      expect(side.open.size).toBe(0);
    }).pipe(Effect.provide(layer));
  });

  it.effect("is given back when the answer comes after its time", () => {
    const late = gate();
    const { layer, side, start } = bothCounters({
      timeoutMs: 100,
      behave: (action) => (action === "5" ? late.opened : Promise.resolve()),
    });
    return Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(outcome(request(start, "5")), { startImmediately: true });
      yield* settle;
      yield* TestClock.adjust(100);
      expect(yield* Fiber.join(fiber)).toBe("step_timeout");
      expect(side.open.size).toBe(1);
      late.open();
      yield* settle;
      expect(side.open.size).toBe(0);
    }).pipe(Effect.provide(layer));
  });

  it.effect("is given back at the latest when the run ends", () => {
    const { layer, side, start } = bothCounters();
    return Effect.gen(function* () {
      const play = Effect.flatMap(Environments, (environments) => environments.step(request(start, "1")));
      yield* Effect.provide(play, layer);
      expect(side).toMatchObject({ opened: 1, asked: ["1", "release"] });
    });
  });

  it.effect("costs no more than its time where giving it back hangs", () => {
    const { layer, start } = bothCounters({
      timeoutMs: 100,
      behave: (action) => (action === "release" ? new Promise(() => undefined) : Promise.resolve()),
    });
    return Effect.gen(function* () {
      const environments = yield* Environments;
      const { view } = yield* environments.step(request(start, "1"));
      const fiber = yield* Effect.forkChild(Effect.uninterruptible(environments.release("Far", view.state)), {
        startImmediately: true,
      });
      yield* settle;
      yield* TestClock.adjust(100);
      yield* Fiber.join(fiber);
    }).pipe(Effect.provide(layer));
  });
});

describe("the step stage", () => {
  it.effect("counts those that wait beside the batches", () => {
    const stay = gate();
    const { layer, start } = bothCounters({ capacity: 2, behave: () => stay.opened });
    return Effect.gen(function* () {
      const pool = yield* StepPool;
      const fibers = yield* Effect.forEach(["1", "2", "3"], (action) =>
        Effect.forkChild(outcome(request(start, action)), { startImmediately: true }),
      );
      yield* settle;
      yield* TestClock.adjust(10);
      expect(pool.sample()).toMatchObject({ name: "step", concurrency: 3, running: 2, queue: 1, items: 0 });
      expect(pool.sample()).toMatchObject({ elapsedMs: 10, busyMs: 20, starvedMs: 10, queueMs: 10 });
      stay.open();
      yield* Effect.forEach(fibers, Fiber.join);
      yield* outcome({ ...request({ n: 1 }, "1"), tag: "Near" });
      expect(pool.sample()).toMatchObject({ running: 0, queue: 0, items: 4 });
      expect(pool.concurrency()).toBe(3);
    }).pipe(Effect.provide(layer));
  });

  it.effect("needs no pure environment", () => {
    const { environment } = remote(counter, { capacity: 4 });
    return Effect.gen(function* () {
      const environments = yield* Environments;
      const pool = yield* StepPool;
      const view = yield* environments.reset({ tag: "Far", instance, split: "train" });
      expect(view.actions).toBeNull();
      yield* pool.setConcurrency(9);
      expect([pool.concurrency(), pool.sample().items, pool.faults().lostThreads]).toEqual([4, 1, 0]);
      const unknown = yield* Effect.flip(environments.reset({ tag: "Near", instance, split: "train" }));
      expect(unknown._tag).toBe("EnvironmentError");
    }).pipe(Effect.provide(layerInline(new Map([["Far", environment]]))));
  });

  it.effect("starts no thread where every environment waits", () => {
    const { environment } = remote(counter, { capacity: 4 });
    const layer = layerThreads({
      presets: {},
      threads: 2,
      concurrency: 2,
      timeoutMs: 1000,
      // A thread would not start.
      registry: new URL("../../../src/env/asynchronous/nowhere.ts", import.meta.url),
      asyncEnvironments: new Map([["Far", environment]]),
    });
    return Effect.gen(function* () {
      expect(yield* outcome(request({ session: null, inner: { n: 1 } }, "1"))).toBe("n=2");
      expect((yield* StepPool).sample()).toMatchObject({ concurrency: 4, items: 1 });
    }).pipe(Effect.provide(layer));
  });

  it.effect("does not start where an environment that waits cannot be prepared", () =>
    Effect.gen(function* () {
      const { environment } = remote(counter);
      const unready = { ...environment, prepare: () => Promise.reject(new Error("nobody listens on port 1")) };
      const error = yield* Effect.flip(Effect.scoped(Layer.build(layerInline(new Map([["Far", unready]])))));
      expect(error).toMatchObject({ _tag: "EnvironmentError", tag: "Far" });
      expect(error.message).toContain("nobody listens on port 1");
    }),
  );

  it.effect("starves nobody of an answer while requests are many", () => {
    const { layer, side, start } = bothCounters({ capacity: 3 });
    return Effect.gen(function* () {
      const steps = Array.from({ length: 200 }, (_, n) => outcome(request(start, String(n))));
      const answers = yield* Effect.all(steps, { concurrency: "unbounded" });
      expect(answers).toEqual(Array.from({ length: 200 }, (_, n) => `n=${n + 1}`));
      expect(side.most).toBe(3);
    }).pipe(Effect.provide(layer));
  });
});
