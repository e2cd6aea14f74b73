import { describe, it } from "@effect/vitest";
import { Effect, Layer } from "effect";
import { expect } from "vitest";
import * as Run from "../../src/engine/Run.ts";
import * as Bus from "../../src/flow/Bus.ts";
import * as Pipeline from "../../src/flow/Pipeline.ts";
import * as Stage from "../../src/flow/Stage.ts";
import * as StageRegistry from "../../src/flow/StageRegistry.ts";
import * as Controls from "../../src/observe/control/Controls.ts";
import { RunFolder } from "../../src/observe/record/RunFolder.ts";
import { Stop } from "../../src/support/process/Stop.ts";
import { stepRecord } from "../build/records.ts";

const folder = RunFolder.of({
  path: "runs/a",
  checkpoints: "",
  metrics: "",
  trajectories: "",
  trajectoriesIndex: "",
  events: "",
  eventsIndex: "",
  validations: "",
  replies: "",
});
const services = Controls.layer.pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      Bus.layer(),
      StageRegistry.layer,
      Layer.succeed(RunFolder, folder),
      Layer.succeed(Stop, Stop.of({ requested: Effect.never, request: Effect.void })),
    ),
  ),
);

describe("a run's streams", () => {
  it.effect("bring records, events and the results of a stage, and complete when the run ends", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.Bus;
      const registry = yield* StageRegistry.StageRegistry;
      const seen: unknown[] = [];
      yield* Effect.scoped(
        Effect.gen(function* () {
          const double = registry.add(
            yield* Stage.flow({ name: "double", inbox: 1, concurrency: 1, run: (n: number) => Effect.succeed(2 * n) }),
          );
          const run = yield* Run.make;
          expect([run.folder, run.stages()]).toEqual(["runs/a", ["double"]]);
          run.steps$.subscribe({ next: ({ step }) => seen.push(`step ${step}`), complete: () => seen.push("end") });
          run.events$.subscribe(({ _tag }) => seen.push(_tag));
          run.stage("double").out$.subscribe((out) => seen.push(out));
          yield* bus.record(stepRecord(1));
          yield* bus.emit({ _tag: "WeightsAdopted", version: 1 });
          yield* Pipeline.fromIterable([1, 2]).to(double).run;
        }),
      );
      yield* bus.record(stepRecord(2));
      expect(seen).toEqual(["step 1", "WeightsAdopted", 2, 4, "end"]);
    }).pipe(Effect.provide(services)),
  );

  it.live("report a subscriber that throws in a warning, and the run and the others go on", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.Bus;
      const warned = new Promise<string>((resolve) => process.once("warning", ({ message }) => resolve(message)));
      const seen: number[] = [];
      yield* Effect.scoped(
        Effect.gen(function* () {
          const run = yield* Run.make;
          run.steps$.subscribe(() => {
            throw new Error("a faulty subscriber");
          });
          run.steps$.subscribe(({ step }) => seen.push(step));
          yield* bus.record(stepRecord(1));
          yield* bus.record(stepRecord(2));
        }),
      );
      expect(seen).toEqual([1, 2]);
      expect(yield* Effect.promise(() => warned)).toContain("a faulty subscriber");
    }).pipe(Effect.provide(services)),
  );

  it.effect("name the stages there are where one is asked for that is not", () =>
    Effect.gen(function* () {
      const registry = yield* StageRegistry.StageRegistry;
      registry.add(yield* Stage.flow({ name: "learn", inbox: 1, concurrency: 1, run: () => Effect.void }));
      const run = yield* Effect.scoped(Run.make);
      expect(() => run.stage("lern")).toThrow("no stage lern; there are learn");
    }).pipe(Effect.provide(services)),
  );
});
