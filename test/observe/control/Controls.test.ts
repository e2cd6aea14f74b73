import { describe, it } from "@effect/vitest";
import { Effect, Layer } from "effect";
import { expect } from "vitest";
import type { Control } from "../../../src/domain/Control.ts";
import type { Event } from "../../../src/domain/Event.ts";
import * as Bus from "../../../src/flow/Bus.ts";
import * as Stage from "../../../src/flow/Stage.ts";
import * as StageRegistry from "../../../src/flow/StageRegistry.ts";
import * as Controls from "../../../src/observe/control/Controls.ts";
import { Stop } from "../../../src/support/process/Stop.ts";

/** A run with a stage of each kind; `stopped` counts the stops asked for. */
const make = Effect.gen(function* () {
  const bus = yield* Bus.Bus;
  const registry = yield* StageRegistry.StageRegistry;
  const idle = () => Effect.void;
  registry.add(yield* Stage.flow({ name: "rollout", inbox: 1, concurrency: 4, most: 8, run: idle }));
  registry.add(yield* Stage.flow({ name: "learn", inbox: 1, concurrency: 1, run: idle }));
  registry.add(yield* Stage.service({ name: "generate", concurrency: 2, run: idle }));
  let lanes = 2;
  registry.addSetting({
    name: "lanes",
    most: 2,
    concurrency: () => lanes,
    setConcurrency: (count) =>
      Effect.sync(() => {
        lanes = count;
      }),
  });
  const { apply } = yield* Controls.Controls;
  const events: Event[] = [];
  bus.onEvent((event) => void events.push(event));
  const concurrencies = () => [...registry.stages(), ...registry.settings()].map((setting) => setting.concurrency());
  const stages = () => registry.stages().map(({ name }) => name);
  return { apply, bus, concurrencies, events, stages };
});

const controlled = <A, E>(use: (run: Effect.Success<typeof make>, stops: () => number) => Effect.Effect<A, E>) => {
  let stops = 0;
  const stop = Stop.of({ requested: Effect.never, request: Effect.sync(() => void stops++) });
  const base = Layer.mergeAll(Bus.layer(), StageRegistry.layer, Layer.succeed(Stop, stop));
  return Effect.flatMap(make, (run) => use(run, () => stops)).pipe(
    Effect.provide(Controls.layer.pipe(Layer.provideMerge(base))),
  );
};

const set = (stage: string, concurrency: number): Control => ({ _tag: "SetConcurrency", stage, concurrency });

describe("controls of a run", () => {
  it.effect("set a stage's concurrency, with an event that says who did and why", () =>
    controlled(({ apply, concurrencies, events }) =>
      Effect.gen(function* () {
        yield* apply(set("rollout", 8), "shell", "it starves");
        expect(concurrencies()).toEqual([8, 1, 2, 2]);
        expect(events).toEqual([{ _tag: "Controlled", control: set("rollout", 8), by: "shell", reason: "it starves" }]);
      }),
    ),
  );

  it.effect("set what is no stage, which stays out of the list of stages", () =>
    controlled(({ apply, concurrencies, events, stages }) =>
      Effect.gen(function* () {
        yield* apply(set("lanes", 1), "shell");
        expect(concurrencies()).toEqual([4, 1, 2, 1]);
        expect(events).toEqual([{ _tag: "Controlled", control: set("lanes", 1), by: "shell" }]);
        expect(stages()).toEqual(["rollout", "learn", "generate"]);
      }),
    ),
  );

  it.effect.each([
    [set("rolout", 2), "no stage rolout; the concurrency of rollout, generate, lanes can be set; nearest: rollout"],
    [set("learn", 2), "the concurrency of learn cannot be set; that of rollout, generate, lanes can"],
    [set("rollout", 9), "rollout: 9 is more than it can use; nearest: 8"],
    [set("lanes", 3), "lanes: 3 is more than it can use; nearest: 2"],
    [{ _tag: "ResumeAdmission" }, "admission is not paused"],
  ] satisfies [Control, string][])("refuse what makes no sense, and change nothing: %j", ([control, message]) =>
    controlled(({ apply, concurrencies, events }) =>
      Effect.gen(function* () {
        expect((yield* Effect.flip(apply(control, "page"))).message).toBe(message);
        expect([concurrencies(), events]).toEqual([[4, 1, 2, 2], []]);
      }),
    ),
  );

  it.effect("pause admission once, and let it go on", () =>
    controlled(({ apply, bus }) =>
      Effect.gen(function* () {
        yield* apply({ _tag: "PauseAdmission" }, "page");
        expect(bus.state().paused).toBe(true);
        expect((yield* Effect.flip(apply({ _tag: "PauseAdmission" }, "page"))).message).toBe(
          "admission is paused already",
        );
        yield* apply({ _tag: "ResumeAdmission" }, "page");
        expect(bus.state().paused).toBe(false);
      }),
    ),
  );

  it.effect("make a validation and a checkpoint due", () =>
    controlled(({ apply, bus }) =>
      Effect.gen(function* () {
        yield* apply({ _tag: "Validate" }, "code");
        yield* apply({ _tag: "Checkpoint" }, "code");
        expect(bus.state()).toMatchObject({ validationDue: true, checkpointDue: true });
      }),
    ),
  );

  it.effect("ask for a stop once", () =>
    controlled(({ apply, bus }, stops) =>
      Effect.gen(function* () {
        yield* apply({ _tag: "Stop" }, "page");
        yield* bus.emit({ _tag: "Stopped", reason: "stopped" });
        expect((yield* Effect.flip(apply({ _tag: "Stop" }, "page"))).message).toBe("the run is stopping");
        expect(stops()).toBe(1);
      }),
    ),
  );
});
