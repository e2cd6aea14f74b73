import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { it } from "@effect/vitest";
import { Effect, Exit, Fiber, Tracer } from "effect";
import { TestClock } from "effect/testing";
import { describe, expect } from "vitest";
import { spanned } from "../../../../src/flow/spanned.ts";
import * as Trace from "../../../../src/observe/sinks/trace/Trace.ts";
import { stepRecord } from "../../../build/records.ts";
import { temporaryFolder } from "../../../temporaryFolder.ts";
import { run, sample, stage } from "../fixtures.ts";
import { check, entriesOf } from "./checker.ts";

const read = (folder: string, name = "trace.json"): string => readFileSync(join(folder, name), "utf8");

/** Two turns at once in a group, and an update. */
const work = spanned(
  Effect.all(
    [
      spanned(Effect.sleep("10 millis"), "turn", { member: 0 }),
      spanned(Effect.sleep("30 millis"), "turn", { member: 1 }),
      spanned(Effect.as(Effect.sleep("5 millis"), 7), "update", {}, (version) => ({ version })),
    ],
    { concurrency: "unbounded" },
  ),
  "group",
  { group: 3 },
);

const traced = (trace: Trace.Trace, inner?: Tracer.Tracer) =>
  Effect.gen(function* () {
    const working = yield* Effect.forkChild(Effect.provideService(work, Tracer.Tracer, trace.tracer(inner)), {
      startImmediately: true,
    });
    yield* TestClock.adjust("30 millis");
    yield* Fiber.join(working);
  });

describe("the trace of a run", () => {
  it.effect("holds the run's spans on tracks, with their attributes and times", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      const trace = Trace.make();
      yield* trace.sink.open({ ...run, folder });
      yield* traced(trace);
      yield* trace.sink.event?.({ _tag: "WeightsAdopted", version: 7 }) ?? Effect.void;
      yield* trace.sink.gauges?.(sample(1000, [stage("rollout")])) ?? Effect.void;
      yield* trace.sink.step(stepRecord(1, { "staleness/mean": 1 }));
      yield* trace.sink.close({ _tag: "Completed" });
      expect(check(read(folder))).toEqual({ turn: 2, update: 1, group: 1, arrows: 0 });
      const spans = entriesOf(read(folder)).filter(({ ph }) => ph === "X");
      expect(spans.map(({ dur, name, ts }) => [name, ts, dur])).toEqual([
        ["update", 0, 5000],
        ["turn", 0, 10_000],
        ["turn", 0, 30_000],
        ["group", 0, 30_000],
      ]);
      expect(spans.map(({ args }) => args)).toEqual([{ version: 7 }, { member: 0 }, { member: 1 }, { group: 3 }]);
    }),
  );

  it.effect("is valid without its closing bracket, as a killed run leaves it", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      const trace = Trace.make();
      yield* trace.sink.open({ ...run, folder });
      yield* traced(trace);
      yield* trace.sink.step(stepRecord(1));
      expect(read(folder).trimEnd().endsWith("]")).toBe(false);
      expect(check(read(folder)).turn).toBe(2);
      yield* trace.sink.close({ _tag: "Completed" });
      expect(JSON.parse(read(folder)).length).toBeGreaterThan(0);
    }),
  );

  it.effect("ends at its limit with a mark, and the run goes on", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      const trace = Trace.make({ limit: 4096 });
      yield* trace.sink.open({ ...run, folder });
      for (let i = 0; i < 30; i++) {
        yield* traced(trace);
        yield* trace.sink.step(stepRecord(i));
      }
      yield* trace.sink.close({ _tag: "Completed" });
      const text = read(folder);
      expect(text.length).toBeLessThan(4096 + 200);
      expect(JSON.parse(text).at(-1).name).toContain("the trace ends here");
      check(text);
    }),
  );

  it.effect("holds a bounded amount while the disk does not take it, and says what it lost", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      const trace = Trace.make();
      const long = "x".repeat(2 ** 20);
      const span = Effect.provideService(spanned(Effect.void, "step", { long }), Tracer.Tracer, trace.tracer());
      for (let i = 0; i < 12; i++) yield* span;
      yield* trace.sink.open({ ...run, folder });
      yield* trace.sink.close({ _tag: "Completed" });
      expect(check(read(folder)).step).toBe(7);
      expect(JSON.parse(read(folder)).at(-1).name).toBe("5 entries lost: the disk was slower");
    }),
  );

  it.effect("fails as a sink where it cannot write, and takes nothing any more", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      rmSync(folder, { recursive: true });
      const trace = Trace.make();
      const error = yield* Effect.flip(trace.sink.open({ ...run, folder }));
      expect(error.message).toContain("cannot write");
      yield* traced(trace);
    }),
  );

  it.effect("is a file of its own for each start", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      for (let start = 0; start < 3; start++) {
        const { sink } = Trace.make();
        yield* sink.open({ ...run, folder });
        yield* sink.close({ _tag: "Completed" });
      }
      expect(readdirSync(folder).toSorted()).toEqual(["trace-2.json", "trace-3.json", "trace.json"]);
    }),
  );

  it.effect("leaves spans to another tracer too, parents included", () =>
    Effect.gen(function* () {
      const ended: string[] = [];
      const inner = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options);
          const end = span.end.bind(span);
          span.end = (time, exit) => {
            end(time, exit);
            const parent =
              span.parent._tag === "Some" && span.parent.value._tag === "Span" ? span.parent.value.name : "";
            ended.push(`${span.name} of ${parent}, ${Exit.isSuccess(exit)}`);
          };
          return span;
        },
      });
      yield* traced(Trace.make(), inner);
      expect(ended).toEqual(["update of group, true", "turn of group, true", "turn of group, true", "group of , true"]);
    }),
  );

  it.effect("tells how a span failed", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      const trace = Trace.make();
      yield* trace.sink.open({ ...run, folder });
      const failing = spanned(Effect.fail(new Error("no such room")), "step");
      yield* Effect.ignore(Effect.provideService(failing, Tracer.Tracer, trace.tracer()));
      yield* trace.sink.close({ _tag: "Completed" });
      const [span] = entriesOf(read(folder)).filter(({ ph }) => ph === "X");
      expect(span?.args).toEqual({ problem: "no such room" });
    }),
  );
});
