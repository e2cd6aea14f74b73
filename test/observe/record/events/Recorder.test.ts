import { readFileSync } from "node:fs";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import * as Position from "../../../../src/domain/Position.ts";
import * as RunState from "../../../../src/domain/RunState.ts";
import * as Bus from "../../../../src/flow/Bus.ts";
import { decode, type EventLine } from "../../../../src/observe/record/events/EventLine.ts";
import { keyframesIn } from "../../../../src/observe/record/events/EventLog.ts";
import * as Recorder from "../../../../src/observe/record/events/Recorder.ts";
import { RunFolder } from "../../../../src/observe/record/RunFolder.ts";
import { reachConfig } from "../../../build/config.ts";
import { runFolder } from "../../../engine/fakes.ts";
import { sample } from "../../sinks/fixtures.ts";

type Folder = typeof RunFolder.Service;

const config = reachConfig();
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
          Effect.forEach([0, 500, 1_000, 1_500, 2_000], (ms) => bus.publishSample(sample(ms)), { discard: true }),
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
        const seeds = { ...RunState.initial.seeds, next: 3 };
        const state = { ...RunState.initial, step: 2, seeds, checkpoint };
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

  it.live("tells at once of the alarms that stand in the run that goes on, and of its versions", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* runFolder;
        const alarm = {
          alarm: "format",
          sign: "unread",
          step: 2,
          title: "",
          measured: "",
          cause: "",
          advice: "",
        } as const;
        const state = {
          ...RunState.initial,
          step: 2,
          position: Position.start({ consumed: 2, version: 2 }),
          alarms: { ...RunState.initial.alarms, standing: [alarm] },
        };
        yield* recorded(folder, () => Effect.void, state);
        const keyframe = linesOf(folder).find(({ _tag }) => _tag === "Keyframe");
        expect(keyframe).toMatchObject({ frame: { step: 2, version: 2, adopted: 2, alarms: [alarm] } });
      }),
    ),
  );

  it.live("holds no group and no window twice after a resume, though they ran ahead of the checkpoint", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* runFolder;
        const rounds = (bus: typeof Bus.Bus.Service, group: number, window: number) =>
          Effect.gen(function* () {
            yield* bus.emit({ _tag: "Admitted", group, window });
            yield* bus.emit({
              _tag: "Finished",
              group,
              tokens: 1,
              failed: false,
              tag: "Test",
              // Long enough for keyframes of its own, before and behind what is cut.
              episodes: Array.from({ length: 2_000 }, () => ({
                success: true,
                reward: 1,
                turns: 1,
                versions: [],
                failed: false,
              })),
            });
            yield* bus.emit({ _tag: "Windowed", window, groups: [group] });
            yield* bus.emit({ _tag: "Scored", window });
          });
        const close = (bus: typeof Bus.Bus.Service, group: number) =>
          bus.emit({ _tag: "StepClosed", step: group + 1, groups: [group], seconds: 1 });
        yield* recorded(folder, (bus) =>
          Effect.gen(function* () {
            for (let group = 0; group < 40; group++) {
              yield* rounds(bus, group, group);
              // The group after the checkpoint is played before the step of the checkpoint is closed.
              if (group > 0) yield* close(bus, group - 1);
            }
          }),
        );
        const before = linesOf(folder);
        expect(before.filter(({ _tag }) => _tag === "Keyframe").length).toBeGreaterThan(3);
        const state = {
          ...RunState.initial,
          step: 38,
          seeds: { ...RunState.initial.seeds, next: 40, returned: [38, 39] },
          checkpoint: { step: 38, folder: "step-38" },
        };
        yield* recorded(
          folder,
          (bus) =>
            Effect.gen(function* () {
              for (const group of [38, 39]) {
                yield* rounds(bus, group, group);
                yield* close(bus, group);
              }
            }),
          state,
        );
        const lines = linesOf(folder);
        const all = Array.from({ length: 40 }, (_, index) => index);
        const groups = (tag: "Admitted" | "Finished") =>
          lines.flatMap((line) => (line._tag === tag ? [line.group] : []));
        const windows = (tag: "Windowed" | "Scored") =>
          lines.flatMap((line) => (line._tag === tag ? [line.window] : []));
        expect(groups("Admitted")).toEqual(all);
        expect(groups("Finished")).toEqual(all);
        expect(windows("Windowed")).toEqual(all);
        expect(windows("Scored")).toEqual(all);
        const text = readFileSync(folder.events, "utf8");
        const keyframes = keyframesIn(readFileSync(folder.eventsIndex, "utf8"));
        expect(keyframes.length).toBeGreaterThan(3);
        for (const { offset } of keyframes) {
          expect(decode(text.slice(offset, text.indexOf("\n", offset)))).toMatchObject({ _tag: "Keyframe" });
        }
      }),
    ),
  );

  it.live("is not written where the run file says so", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* runFolder;
        const off = reachConfig({ metrics: { events: false } });
        yield* Effect.scoped(Recorder.attach(off)).pipe(
          Effect.provide(Bus.layer()),
          Effect.provideService(RunFolder, folder),
        );
        expect(() => linesOf(folder)).toThrow("ENOENT");
      }),
    ),
  );
});
