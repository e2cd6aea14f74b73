import { describe, it } from "@effect/vitest";
import { Clock, Deferred, Effect, Exit, Fiber } from "effect";
import { TestClock } from "effect/testing";
import { expect } from "vitest";
import { toRecord } from "../../src/domain/metrics/Metrics.ts";
import * as Gauge from "../../src/flow/Gauge.ts";
import * as Pipeline from "../../src/flow/Pipeline.ts";
import * as Stage from "../../src/flow/Stage.ts";

const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

/** Counts how many runs overlap. */
const overlap = () => {
  let now = 0;
  let peak = 0;
  return {
    now: () => now,
    peak: () => peak,
    of: <A, E, R>(work: Effect.Effect<A, E, R>) =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          peak = Math.max(peak, ++now);
        }),
        () => work,
        () =>
          Effect.sync(() => {
            now--;
          }),
      ),
  };
};

const collector = <A>(name = "collect", work: Effect.Effect<void> = Effect.void) =>
  Effect.gen(function* () {
    const seen: A[] = [];
    const stage = yield* Stage.flow({
      name,
      inbox: 1,
      concurrency: 1,
      run: (item: A) => Effect.tap(work, () => Effect.sync(() => seen.push(item))),
    });
    return { seen, stage };
  });

describe("a flow stage", () => {
  it.effect("passes every item once and drains in order when the input ends", () =>
    Effect.gen(function* () {
      const double = yield* Stage.flow({
        name: "double",
        inbox: 2,
        concurrency: 1,
        run: (n: number) => Effect.succeed(2 * n),
      });
      const { seen, stage } = yield* collector<number>();
      yield* Pipeline.fromIterable(range(100)).to(double).to(stage).run;
      expect(seen).toEqual(range(100).map((n) => 2 * n));
      expect(double.sample()).toMatchObject({ items: 100, running: 0, blocked: 0, queue: 0 });
    }),
  );

  it.effect("keeps the stage before it blocked until its item is done, where the hand-over is done", () =>
    Effect.gen(function* () {
      const work = yield* Stage.flow({ name: "work", inbox: 1, concurrency: 1, run: () => Effect.sleep(10) });
      const close = yield* Stage.flow({
        name: "close",
        inbox: 1,
        concurrency: 1,
        handover: "done",
        run: () => Effect.sleep(30),
      });
      const run = yield* Effect.forkChild(Pipeline.fromIterable(range(3)).to(work).to(close).run);
      yield* TestClock.adjust(120);
      yield* Fiber.join(run);
      expect(work.sample()).toMatchObject({ items: 3, busyMs: 30, blockedMs: 90, starvedMs: 0 });
      expect(close.sample()).toMatchObject({ items: 3, busyMs: 90, starvedMs: 30 });
    }),
  );

  it.effect("passes on what it holds when it is halted, and takes nothing more", () =>
    Effect.gen(function* () {
      const work = yield* Stage.flow({ name: "work", inbox: 8, concurrency: 2, run: () => Effect.sleep(10) });
      const { seen, stage } = yield* collector<void>();
      yield* Effect.forkChild(Pipeline.fromIterable(range(6)).to(work).to(stage).run);
      yield* TestClock.adjust(15);
      const halt = yield* Effect.forkChild(work.halt);
      yield* TestClock.adjust(4);
      expect(halt.pollUnsafe()).toBeUndefined();
      yield* TestClock.adjust(1);
      yield* Fiber.join(halt);
      yield* TestClock.adjust(1000);
      expect(seen).toHaveLength(4);
      expect(work.sample()).toMatchObject({ running: 0, blocked: 0, items: 4 });
    }),
  );

  it.effect("calls its listeners with every result", () =>
    Effect.gen(function* () {
      const work = yield* Stage.flow({
        name: "work",
        inbox: 8,
        concurrency: 1,
        run: (n: number) => Effect.succeed(n * 10),
      });
      const seen: unknown[] = [];
      work.onOut((out) => seen.push(out));
      yield* Pipeline.fromIterable(range(3)).to(work).run;
      expect(seen).toEqual([0, 10, 20]);
    }),
  );

  it.effect("hands results on as they complete where the concurrency is above 1", () =>
    Effect.gen(function* () {
      const slowFirst = yield* Stage.flow({
        name: "slow first",
        inbox: 8,
        concurrency: 3,
        run: (ms: number) => Effect.as(Effect.sleep(ms), ms),
      });
      const { seen, stage } = yield* collector<number>();
      const run = yield* Effect.forkChild(Pipeline.fromIterable([30, 20, 10]).to(slowFirst).to(stage).run);
      yield* TestClock.adjust(30);
      yield* Fiber.join(run);
      expect(seen).toEqual([10, 20, 30]);
    }),
  );

  it.effect("lets at most concurrency + inbox + concurrency-downstream items start ahead of a stuck consumer", () =>
    Effect.gen(function* () {
      let started = 0;
      const producer = yield* Stage.flow({
        name: "producer",
        inbox: 1,
        concurrency: 3,
        run: () => Effect.sync(() => ++started),
      });
      const stuck = yield* Stage.flow({ name: "stuck", inbox: 4, concurrency: 1, run: () => Effect.never });
      const run = yield* Effect.forkChild(Pipeline.fromIterable(range(100)).to(producer).to(stuck).run);
      yield* TestClock.adjust(1);
      expect(started).toBe(3 + 4 + 1);
      expect(producer.sample()).toMatchObject({ running: 0, blocked: 3, queue: 1 });
      expect(stuck.sample()).toMatchObject({ running: 1, queue: 4 });
      yield* Fiber.interrupt(run);
    }),
  );

  it.effect("ends the whole pipeline with its first typed failure and interrupts the rest", () =>
    Effect.gen(function* () {
      const busy = overlap();
      const upstream = yield* Stage.flow({
        name: "upstream",
        inbox: 4,
        concurrency: 4,
        run: (n: number) => busy.of(n < 2 ? Effect.succeed(n) : Effect.never),
      });
      const failing = yield* Stage.flow({
        name: "failing",
        inbox: 4,
        concurrency: 1,
        run: (n: number) => (n === 1 ? Effect.fail("broken" as const) : Effect.void),
      });
      const exit = yield* Effect.exit(Pipeline.fromIterable(range(10)).to(upstream).to(failing).run);
      expect(exit).toEqual(Exit.fail("broken"));
      expect(busy.now()).toBe(0);
    }),
  );

  it.effect("releases everything in flight when it is interrupted", () =>
    Effect.gen(function* () {
      const busy = overlap();
      const stage = yield* Stage.flow({ name: "held", inbox: 4, concurrency: 4, run: () => busy.of(Effect.never) });
      const run = yield* Effect.forkChild(Pipeline.fromIterable(range(10)).to(stage).run);
      yield* TestClock.adjust(1);
      expect(busy.now()).toBe(4);
      yield* Fiber.interrupt(run);
      expect(busy.now()).toBe(0);
    }),
  );

  it.effect("starts waiting items at once when its concurrency grows", () =>
    Effect.gen(function* () {
      const busy = overlap();
      const stage = yield* Stage.flow({ name: "grows", inbox: 8, concurrency: 1, run: () => busy.of(Effect.never) });
      const run = yield* Effect.forkChild(Pipeline.fromIterable(range(20)).to(stage).run);
      yield* TestClock.adjust(1);
      expect(busy.now()).toBe(1);
      yield* stage.setConcurrency(5);
      yield* TestClock.adjust(1);
      expect(busy.now()).toBe(5);
      yield* Fiber.interrupt(run);
    }),
  );

  it.effect("lets running items finish when its concurrency shrinks, and starts no more than the new number", () =>
    Effect.gen(function* () {
      const busy = overlap();
      const stage = yield* Stage.flow({
        name: "shrinks",
        inbox: 8,
        concurrency: 6,
        run: () => busy.of(Effect.sleep(10)),
      });
      const run = yield* Effect.forkChild(Pipeline.fromIterable(range(40)).to(stage).run);
      yield* TestClock.adjust(1);
      yield* stage.setConcurrency(2);
      yield* TestClock.adjust(8);
      expect(busy.now()).toBe(6);
      yield* TestClock.adjust(5);
      expect(busy.now()).toBe(2);
      yield* stage.setConcurrency(3);
      yield* TestClock.adjust(1);
      expect(busy.now()).toBe(3);
      yield* TestClock.adjust(1000);
      yield* Fiber.join(run);
      expect(stage.sample().items).toBe(40);
    }),
  );

  it.effect("holds a shrink also for workers that were idle", () =>
    Effect.gen(function* () {
      const busy = overlap();
      const open = yield* Deferred.make<void>();
      const stage = yield* Stage.flow({ name: "idle", inbox: 8, concurrency: 8, run: () => busy.of(Effect.sleep(10)) });
      const late = Pipeline.from(Effect.as(Deferred.await(open), 1));
      const run = yield* Effect.forkChild(late.to(stage).run);
      yield* TestClock.adjust(1);
      yield* stage.setConcurrency(2);
      yield* Deferred.succeed(open, undefined);
      yield* TestClock.adjust(5);
      expect(busy.peak()).toBe(2);
      yield* Fiber.interrupt(run);
    }),
  );

  it.effect("keeps the slowest stage fully busy: throughput is its bound", () =>
    Effect.gen(function* () {
      const sleepy = (name: string, ms: number) =>
        Stage.flow({ name, inbox: 8, concurrency: 8, run: (n: number) => Effect.as(Effect.sleep(ms), n) });
      const first = yield* sleepy("first", 10);
      const slow = yield* sleepy("slow", 40);
      const last = yield* sleepy("last", 20);
      const run = yield* Effect.forkChild(Pipeline.fromIterable(range(400)).to(first).to(slow).to(last).run);
      yield* TestClock.adjust(200);
      const before = slow.sample();
      yield* TestClock.adjust(1600);
      expect(Gauge.shares(before, slow.sample()).busy).toBeCloseTo(1, 9);
      yield* TestClock.adjust(10 + (400 / 8) * 40 + 20 - 1800);
      yield* Fiber.join(run);
      expect(last.sample().items).toBe(400);
    }),
  );

  it.effect("is not measured as blocked while the next stage computes", () =>
    Effect.gen(function* () {
      // The clock moves inside the synchronous work of the second stage, as it does while a thread computes.
      let now = 0n;
      const real = yield* Clock.Clock;
      const clock: Clock.Clock = Object.assign(Object.create(real), { monotonicTimeNanosUnsafe: () => now });
      const compute = Effect.sync(() => {
        now += 1_000_000n;
      });
      const stage = <A>(name: string, run: (n: number) => Effect.Effect<A>) =>
        Effect.provideService(Stage.flow({ name, inbox: 4, concurrency: 1, run }), Clock.Clock, clock);
      const first = yield* stage("first", Effect.succeed);
      const second = yield* stage("second", () => compute);
      yield* Pipeline.fromIterable(range(4)).to(first).to(second).run;
      expect(second.sample()).toMatchObject({ busyMs: 4, items: 4 });
      expect(first.sample()).toMatchObject({ busyMs: 0, blockedMs: 0, items: 4 });
    }),
  );

  it.effect("passes on what a gathering stage still holds when the input ends", () =>
    Effect.gen(function* () {
      let waiting: number[] = [];
      const pairs = yield* Stage.gather({
        name: "pairs",
        inbox: 1,
        run: (n: number) =>
          Effect.sync(() => {
            waiting.push(n);
            if (waiting.length < 2) return [];
            const pair = waiting;
            waiting = [];
            return [pair];
          }),
        rest: Effect.sync(() => (waiting.length > 0 ? [waiting] : [])),
      });
      const { seen, stage } = yield* collector<number[]>();
      yield* Pipeline.fromIterable(range(5)).to(pairs).to(stage).run;
      expect(seen).toEqual([[0, 1], [2, 3], [4]]);
    }),
  );
});

describe("the gauges", () => {
  it.effect("divide a stage's slot-time into busy, blocked and starved", () =>
    Effect.gen(function* () {
      const fast = yield* Stage.flow({ name: "fast", inbox: 1, concurrency: 2, run: () => Effect.sleep(10) });
      const slow = yield* Stage.flow({ name: "slow", inbox: 1, concurrency: 1, run: () => Effect.sleep(40) });
      const run = yield* Effect.forkChild(Pipeline.fromIterable(range(4)).to(fast).to(slow).run);
      yield* TestClock.adjust(1000);
      yield* Fiber.join(run);
      // fast: two runs of two at 0-10 and 10-20; at 20 the inbox holds item 1, so the
      // two results wait until slow takes again, at 50 and at 90.
      const sample = fast.sample();
      expect(sample.busyMs).toBeCloseTo(40, 6);
      expect(sample.blockedMs).toBeCloseTo(30 + 70, 6);
      expect(sample.busyMs + sample.blockedMs + sample.starvedMs).toBeCloseTo(2 * sample.elapsedMs, 6);
      expect(slow.sample().busyMs).toBeCloseTo(160, 6);
      expect(Gauge.times(null, slow.sample()).serviceMs).toBeCloseTo(40, 6);
    }),
  );

  it.effect("give shares of an interval that sum to 1 while the concurrency changes", () =>
    Effect.gen(function* () {
      const stage = yield* Stage.flow({ name: "varies", inbox: 2, concurrency: 3, run: () => Effect.sleep(10) });
      const run = yield* Effect.forkChild(Pipeline.fromIterable(range(30)).to(stage).run);
      yield* TestClock.adjust(25);
      const before = stage.sample();
      yield* stage.setConcurrency(1);
      yield* TestClock.adjust(25);
      yield* stage.setConcurrency(7);
      yield* TestClock.adjust(25);
      const share = Gauge.shares(before, stage.sample());
      expect(share.busy + share.blocked + share.starved).toBeCloseTo(1, 9);
      expect(share.busy).toBeGreaterThan(0.5);
      yield* Fiber.interrupt(run);
    }),
  );

  it.effect("name their metrics stage/<name>/…", () =>
    Effect.gen(function* () {
      const stage = yield* Stage.flow({ name: "score", inbox: 2, concurrency: 1, run: () => Effect.sleep(10) });
      yield* Effect.forkChild(Pipeline.fromIterable(range(2)).to(stage).run);
      yield* TestClock.adjust(40);
      expect(toRecord(Gauge.metrics(null, stage.sample()))).toEqual({
        "stage/score/busy": 0.5,
        "stage/score/starved": 0.5,
        "stage/score/blocked": 0,
        "stage/score/queue": 0.25,
        "stage/score/concurrency": 1,
        "stage/score/items": 2,
      });
    }),
  );
});

describe("a service stage", () => {
  it.effect("serves at most its concurrency, in order of asking, and answers each caller", () =>
    Effect.gen(function* () {
      const busy = overlap();
      const order: number[] = [];
      const service = yield* Stage.service({
        name: "generate",
        concurrency: 2,
        run: (n: number) =>
          busy.of(
            Effect.as(
              Effect.andThen(
                Effect.sync(() => order.push(n)),
                Effect.sleep(10),
              ),
              n * n,
            ),
          ),
      });
      const calls = yield* Effect.forkChild(Effect.forEach(range(5), service.call, { concurrency: "unbounded" }));
      yield* TestClock.adjust(1);
      expect(service.sample()).toMatchObject({ running: 2, queue: 3 });
      yield* TestClock.adjust(100);
      expect(yield* Fiber.join(calls)).toEqual([0, 1, 4, 9, 16]);
      expect(order).toEqual(range(5));
      expect(busy.peak()).toBe(2);
      expect(service.sample()).toMatchObject({ items: 5, running: 0, queue: 0, busyMs: 50 });
    }),
  );

  it.effect("gives the slot of a failed or interrupted call to the next", () =>
    Effect.gen(function* () {
      const service = yield* Stage.service({
        name: "step",
        concurrency: 1,
        run: (n: number) => (n === 0 ? Effect.never : n === 1 ? Effect.fail("no") : Effect.succeed(n)),
      });
      const stuck = yield* Effect.forkChild(service.call(0));
      const waiting = yield* Effect.forkChild(service.call(0));
      const failing = yield* Effect.forkChild(service.call(1));
      const good = yield* Effect.forkChild(service.call(2));
      yield* TestClock.adjust(1);
      expect(service.sample().queue).toBe(3);
      yield* Fiber.interrupt(waiting);
      expect(service.sample().queue).toBe(2);
      yield* Fiber.interrupt(stuck);
      expect(yield* Fiber.await(failing)).toEqual(Exit.fail("no"));
      expect(yield* Fiber.join(good)).toBe(2);
      expect(service.sample()).toMatchObject({ queue: 0, running: 0 });
    }),
  );

  it.effect("serves waiting callers at once when its concurrency grows", () =>
    Effect.gen(function* () {
      const service = yield* Stage.service({ name: "step", concurrency: 1, run: () => Effect.sleep(10) });
      yield* Effect.forkChild(Effect.forEach(range(6), service.call, { concurrency: "unbounded" }));
      yield* TestClock.adjust(1);
      yield* service.setConcurrency(4);
      yield* TestClock.adjust(1);
      expect(service.sample()).toMatchObject({ running: 4, queue: 2, concurrency: 4 });
    }),
  );

  it.effect("answers ten thousand waiting callers without deepening the stack", () =>
    Effect.gen(function* () {
      const service = yield* Stage.service({ name: "null", concurrency: 1, run: (n: number) => Effect.succeed(n) });
      const first = yield* Deferred.make<void>();
      const gate = yield* Stage.service({ name: "gate", concurrency: 1, run: () => Deferred.await(first) });
      const all = yield* Effect.forkChild(
        Effect.forEach(range(10_000), (n) => Effect.andThen(gate.call(n), service.call(n)), {
          concurrency: "unbounded",
        }),
      );
      yield* TestClock.adjust(1);
      yield* Deferred.succeed(first, undefined);
      expect(yield* Fiber.join(all)).toHaveLength(10_000);
    }),
  );
});
