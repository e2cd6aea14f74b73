import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { TestClock } from "effect/testing";
import { expect } from "vitest";
import * as LiveConsole from "../../../src/observe/sinks/LiveConsole.ts";
import type { Sink } from "../../../src/observe/sinks/Sink.ts";
import type { Terminal } from "../../../src/observe/sinks/Terminal.ts";
import { stepRecord } from "../../build/records.ts";
import { recorder, run } from "./fixtures.ts";

const frames = (written: readonly string[]): string[] => written.filter((text) => text.includes("\x1b[?2026h"));

const REFRESH_MS = 250;

/** A console that shows the run, and one step after the other, each for long enough to be drawn. */
const shown = Effect.fnUntraced(function* (terminal: Terminal, ...steps: readonly number[]) {
  const sink = LiveConsole.make({ terminal, refreshMs: REFRESH_MS });
  yield* sink.open(run);
  for (const step of steps) yield* sendStep(sink, step);
  return sink;
});

const sendStep = (sink: Sink, step: number) =>
  Effect.andThen(sink.step(stepRecord(step)), TestClock.adjust(REFRESH_MS));

describe("the live console", () => {
  it.effect("fails once its output is broken, which switches it off", () =>
    Effect.gen(function* () {
      const { terminal } = recorder({ broken: () => "nobody reads standard output any more" });
      const sink = yield* shown(terminal);
      expect((yield* Effect.flip(sink.step(stepRecord(1)))).message).toBe("nobody reads standard output any more");
    }),
  );

  it.effect("draws the first update at once and then at most one frame per refresh, the newest state", () =>
    Effect.gen(function* () {
      const { terminal, written } = recorder();
      const sink = yield* shown(terminal);
      for (let step = 1; step <= 50; step++) {
        yield* sink.step(stepRecord(step));
        yield* Effect.yieldNow;
      }
      expect(frames(written)).toHaveLength(2);
      expect(frames(written)[1]).toContain("step   1/200");
      yield* TestClock.adjust(REFRESH_MS);
      expect(frames(written)).toHaveLength(3);
      expect(frames(written)[2]).toContain("step  50/200");
      yield* TestClock.adjust(10 * REFRESH_MS);
      expect(frames(written)).toHaveLength(3);
    }),
  );

  it.effect("draws each frame over the last, in one write", () =>
    Effect.gen(function* () {
      const { terminal, written } = recorder();
      yield* shown(terminal, 1);
      const [first, second] = frames(written);
      const height = first!.split("\n").length - 1;
      expect(second!.startsWith(`\x1b[?2026h\x1b[${height}A\r`)).toBe(true);
      expect(second!.endsWith("\x1b[J\x1b[?2026l")).toBe(true);
    }),
  );

  it.effect("goes further up after the terminal became narrower and wrapped the last frame", () =>
    Effect.gen(function* () {
      let columns = 100;
      const { terminal, written } = recorder({ columns: () => columns });
      const sink = yield* shown(terminal);
      columns = 50;
      yield* sendStep(sink, 1);
      const [first, second] = frames(written);
      const wrapped = first!
        .slice("\x1b[?2026h\r".length)
        .split("\x1b[K\n")
        .slice(0, -1)
        .reduce((rows, line) => rows + Math.max(1, Math.ceil(line.length / 50)), 0);
      expect(second!.startsWith(`\x1b[?2026h\x1b[${wrapped}A\r`)).toBe(true);
    }),
  );

  it.effect("leaves the last state on the screen and restores the cursor", () =>
    Effect.gen(function* () {
      const { terminal, written } = recorder();
      const sink = yield* shown(terminal, 1, 2);
      yield* sink.step(stepRecord(3));
      yield* sink.close({ _tag: "Completed" });
      expect(written[0]).toBe("<hide>");
      expect(written.at(-1)).toBe("<show>");
      expect(written.at(-2)).toContain("step   3/200");
      expect(written.at(-2)).toContain("completed");
    }),
  );
});
