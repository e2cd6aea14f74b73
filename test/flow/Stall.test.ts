import { describe, it } from "@effect/vitest";
import { Effect, Layer } from "effect";
import { TestClock } from "effect/testing";
import { expect } from "vitest";
import type { Event, Stopped } from "../../src/domain/Event.ts";
import * as Admitter from "../../src/flow/admission/Admitter.ts";
import * as Bus from "../../src/flow/Bus.ts";
import type { StageSample } from "../../src/flow/Gauge.ts";
import * as StageRegistry from "../../src/flow/StageRegistry.ts";
import * as Stall from "../../src/flow/Stall.ts";
import { stage } from "../observe/sinks/fixtures.ts";

const services = Layer.mergeAll(
  Admitter.layer({ mode: "sync", groups: 1, maxStaleness: 0, windows: 1 }),
  StageRegistry.layer,
).pipe(Layer.provideMerge(Bus.layer()));

describe("the stall report", () => {
  it("says what each stage waits for", () => {
    const stages = [
      stage("rollout", { concurrency: 8, blocked: 3 }),
      stage("window", { queue: 8 }),
      stage("update", { running: 1, queue: 2 }),
      stage("tail"),
      stage("generate", { kind: "service", concurrency: 128, running: 128, queue: 40 }),
    ];
    const decision = { _tag: "Wait", window: 5, consumed: 3, version: 0 } as const;
    expect(Stall.report(stages, decision).map(({ stage, waitsFor }) => `${stage}: ${waitsFor}`)).toEqual([
      "admission: 3 consumed windows and weights version 0, to admit groups of window 5",
      "rollout: room in window's inbox (8 of 8), with 3 of 8 slots blocked",
      "window: a free slot, with 8 in its inbox",
      "update: its own work on 1 of 1 slot (2 in its inbox)",
      "tail: items from update",
      "generate: answers to 128 of 128 slots (40 callers wait)",
    ]);
  });

  it("says that admission is to expect a refill", () => {
    const [admission] = Stall.report([], { _tag: "Verdict", window: 4 });
    expect(admission?.waitsFor).toBe("the filter's verdict on window 4, which may ask for more groups");
  });

  it.effect("comes once per silence, and every event resets its timer", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.Bus;
      const stalls: Event[] = [];
      bus.onEvent((event) => {
        if (event._tag === "Stalled") stalls.push(event);
      });
      yield* Effect.forkChild(Stall.watch(1000));
      yield* TestClock.adjust(900);
      yield* bus.emit({ _tag: "WeightsAdopted", version: 1 });
      yield* TestClock.adjust(999);
      expect(stalls).toEqual([]);
      yield* TestClock.adjust(1);
      const lines = ["admission waits for room in the first inbox (window 0 is open)"];
      expect(stalls).toEqual([{ _tag: "Stalled", silentMs: 1000, lines }]);
      yield* TestClock.adjust(10_000);
      expect(stalls).toHaveLength(1);
      yield* bus.emit({ _tag: "WeightsAdopted", version: 2 });
      yield* TestClock.adjust(1000);
      expect(stalls).toHaveLength(2);
    }).pipe(Effect.provide(services)),
  );

  it.effect("waits while replies come, though there is no event", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.Bus;
      const registry = yield* StageRegistry.StageRegistry;
      let items = 0;
      registry.add({
        name: "generate",
        concurrency: () => 1,
        most: null,
        setConcurrency: () => Effect.void,
        sample: () => stage("generate", { kind: "service", items }),
        onOut: () => () => undefined,
      });
      let stalls = 0;
      bus.onEvent((event) => {
        if (event._tag === "Stalled") stalls++;
      });
      yield* Effect.forkChild(Stall.watch(1000));
      for (let reply = 0; reply < 5; reply++) {
        items++;
        yield* TestClock.adjust(1000);
      }
      expect(stalls).toBe(0);
      yield* TestClock.adjust(1000);
      expect(stalls).toBe(1);
    }).pipe(Effect.provide(services)),
  );

  it.effect("counts the silence from the last event, whatever was done before it", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.Bus;
      let sampledTokens = 0;
      const stalls: Event[] = [];
      bus.onEvent((event) => {
        if (event._tag === "Stalled") stalls.push(event);
      });
      yield* Effect.forkChild(
        Stall.watch(
          1000,
          Effect.sync(() => ({ sampledTokens })),
        ),
      );
      for (let token = 0; token < 10; token++) {
        sampledTokens++;
        yield* TestClock.adjust(50);
      }
      yield* bus.emit({ _tag: "WeightsAdopted", version: 1 });
      yield* TestClock.adjust(999);
      expect(stalls).toEqual([]);
      yield* TestClock.adjust(1);
      expect(stalls).toMatchObject([{ silentMs: 1000 }]);
    }).pipe(Effect.provide(services)),
  );

  it.effect("waits while tokens of one long reply are sampled, and not for generators that do not answer", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.Bus;
      let sampledTokens = 0;
      let answers = true;
      const generated = Effect.suspend(() => (answers ? Effect.succeed({ sampledTokens }) : Effect.never));
      let stalls = 0;
      bus.onEvent((event) => {
        if (event._tag === "Stalled") stalls++;
      });
      yield* Effect.forkChild(Stall.watch(1000, generated));
      for (let token = 0; token < 5; token++) {
        sampledTokens++;
        yield* TestClock.adjust(1000);
      }
      expect(stalls).toBe(0);
      answers = false;
      yield* TestClock.adjust(2000);
      expect(stalls).toBe(1);
    }).pipe(Effect.provide(services)),
  );
});

/** The stops that `Stall.abort(1000)` emits, with gauges of the stages that `samples` names now. */
const stopsOf = Effect.fnUntraced(function* (samples: readonly StageSample[], hasOutsideAgents = false) {
  const bus = yield* Bus.Bus;
  const registry = yield* StageRegistry.StageRegistry;
  for (const sample of samples) {
    const { concurrency, name } = sample;
    registry.add({
      name,
      concurrency: () => concurrency,
      most: null,
      setConcurrency: () => Effect.void,
      sample: () => sample,
      onOut: () => () => undefined,
    });
  }
  const stops: Stopped[] = [];
  bus.onEvent((event) => {
    if (event._tag === "Stopped") stops.push(event);
  });
  yield* Effect.forkChild(Stall.abort(1000, Effect.succeed({ sampledTokens: 0 }), hasOutsideAgents));
  return { bus, stops };
});

describe("a stall that ends the run", () => {
  it.effect("comes once, with one sentence that says who waits for whom and since when", () =>
    Effect.gen(function* () {
      const { stops } = yield* stopsOf([
        stage("rollout", { running: 2, concurrency: 8 }),
        stage("generate", { kind: "service", concurrency: 8, running: 4, queue: 1 }),
      ]);
      yield* TestClock.adjust(999);
      expect(stops).toEqual([]);
      yield* TestClock.adjust(10_000);
      const message =
        "nothing has happened for 1 s, since 1970-01-01T00:00:00.000Z: rollout waits for generate, which waits for answers to 4 of 8 slots (1 callers wait)";
      expect(stops).toEqual([{ _tag: "Stopped", reason: "stalled", steps: 0, message }]);
    }).pipe(Effect.provide(services)),
  );

  it.effect("does not come during a pause by hand, nor at once after it", () =>
    Effect.gen(function* () {
      const { bus, stops } = yield* stopsOf([]);
      yield* bus.emit({ _tag: "Controlled", control: { _tag: "PauseAdmission" }, by: "page" });
      yield* TestClock.adjust(10_500);
      yield* bus.emit({ _tag: "Controlled", control: { _tag: "ResumeAdmission" }, by: "page" });
      yield* TestClock.adjust(999);
      expect(stops).toEqual([]);
      yield* TestClock.adjust(1);
      expect(stops).toHaveLength(1);
    }).pipe(Effect.provide(services)),
  );

  for (const [what, samples, ends] of [
    [
      "while only agents outside hold work",
      [stage("rollout", { running: 2 }), stage("generate", { kind: "service" })],
      false,
    ],
    [
      "where a generator owes an agent outside an answer",
      [stage("rollout", { running: 2 }), stage("generate", { kind: "service", running: 1 })],
      true,
    ],
    [
      "where the learner works beside agents outside",
      [stage("rollout", { running: 2 }), stage("learn", { running: 1 })],
      true,
    ],
  ] as const) {
    it.effect(`${ends ? "comes" : "does not come"} ${what}`, () =>
      Effect.gen(function* () {
        const { stops } = yield* stopsOf(samples, true);
        yield* TestClock.adjust(5_000);
        expect(stops).toHaveLength(ends ? 1 : 0);
      }).pipe(Effect.provide(services)),
    );
  }

  it.effect("is put off by no attempt at a server and no move of the autotuner, and by nothing where it is off", () =>
    Effect.gen(function* () {
      const { bus, stops } = yield* stopsOf([]);
      yield* Effect.forkChild(Stall.abort(0));
      yield* TestClock.adjust(900);
      const state = { _tag: "Retrying", since: 0, attempt: 3, nextAt: 1000, why: "refused" } as const;
      yield* bus.emit({ _tag: "ServerChanged", role: "generator", name: "g:1", state });
      const control = { _tag: "SetConcurrency", stage: "rollout", concurrency: 2 } as const;
      yield* bus.emit({ _tag: "Controlled", control, by: "autotune" });
      yield* TestClock.adjust(100);
      expect(stops).toHaveLength(1);
    }).pipe(Effect.provide(services)),
  );
});
