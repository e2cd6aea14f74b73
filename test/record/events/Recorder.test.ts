import { readFileSync } from "node:fs";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import * as RunState from "../../../src/domain/RunState.ts";
import { decode, type EventLine } from "../../../src/record/events/EventLine.ts";
import * as Recorder from "../../../src/record/events/Recorder.ts";
import { RunFolder } from "../../../src/record/RunFolder.ts";
import * as Bus from "../../../src/stage/Bus.ts";
import { configOf, runFolder } from "../../engine/fakes.ts";
import { sample } from "../../metrics/fixtures.ts";

type Folder = typeof RunFolder.Service;

const config = configOf();
const linesOf = (folder: Folder): readonly EventLine[] =>
  readFileSync(folder.events, "utf8")
    .trimEnd()
    .split("\n")
    .map((text) => decode(text) ?? expect.fail(`no line: ${text}`));
const tagsOf = (folder: Folder) => linesOf(folder).map(({ _tag }) => _tag);

/** Records what `use` does with the bus of a run that is in `state`. */
const recorded = <E>(
  folder: Folder,
  use: (bus: typeof Bus.Bus.Service) => Effect.Effect<void, E>,
  state: RunState.RunState = RunState.initial,
) =>
  Effect.scoped(Effect.andThen(Recorder.attach(config), Effect.flatMap(Bus.Bus, use))).pipe(
    Effect.provide(Bus.layer(state)),
    Effect.provideService(RunFolder, folder),
  );

const closeStep = (bus: typeof Bus.Bus.Service, step: number) =>
  Effect.gen(function* () {
    yield* bus.emit({ _tag: "Admitted", group: step, window: step - 1 });
    yield* bus.emit({ _tag: "StepClosed", step, groups: [step], seconds: step });
  });

describe("the record of a run's events", () => {
  it.live("has every event of the run in order, between its first line and how it ended", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* runFolder;
        yield* recorded(folder, (bus) => closeStep(bus, 1));
        expect(tagsOf(folder)).toEqual(["Run", "Keyframe", "Admitted", "StepClosed", "End"]);
        expect(linesOf(folder).map(({ step }) => step)).toEqual([0, 0, 1, 1, 1]);
        expect(linesOf(folder).at(-1)).toMatchObject({ outcome: "completed" });
      }),
    ),
  );

  it.live("says why a run failed", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* runFolder;
        yield* Effect.exit(recorded(folder, () => Effect.fail(new Error("the learner is gone"))));
        expect(linesOf(folder).at(-1)).toMatchObject({ outcome: "failed", message: "the learner is gone" });
      }),
    ),
  );

  it.live("has the gauges once a second", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* runFolder;
        yield* recorded(folder, (bus) =>
          Effect.forEach([0, 500, 1_000, 1_500, 2_000], (ms) => bus.sampled(sample(ms)), { discard: true }),
        );
        const gauges = linesOf(folder).flatMap((line) => (line._tag === "Gauges" ? [line.sample.elapsedMs] : []));
        expect(gauges).toEqual([0, 1_000, 2_000]);
      }),
    ),
  );

  it.live("is cut back to the checkpoint that a run goes on from, and says that it does", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* runFolder;
        yield* recorded(folder, (bus) => Effect.forEach([1, 2, 3], (step) => closeStep(bus, step), { discard: true }));
        const checkpoint = { step: 2, folder: "step-2" };
        const state = { ...RunState.initial, step: 2, checkpoint };
        yield* recorded(folder, (bus) => closeStep(bus, 3), state);
        expect(tagsOf(folder)).toEqual([
          "Run",
          "Keyframe",
          "Admitted",
          "StepClosed",
          "Admitted",
          "StepClosed",
          "Run",
          "Keyframe",
          "Resumed",
          "Admitted",
          "StepClosed",
          "End",
        ]);
        const steps = linesOf(folder).map(({ step }) => step);
        expect(steps).toEqual(steps.toSorted((a, b) => a - b));
      }),
    ),
  );

  it.live("is not written where the run file says so", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* runFolder;
        const off = configOf({ metrics: { events: false } });
        yield* Effect.scoped(Recorder.attach(off)).pipe(
          Effect.provide(Bus.layer()),
          Effect.provideService(RunFolder, folder),
        );
        expect(() => linesOf(folder)).toThrow("ENOENT");
      }),
    ),
  );
});
