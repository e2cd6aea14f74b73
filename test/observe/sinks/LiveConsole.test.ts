import { Effect } from "effect";
import { VirtualTimeScheduler } from "rxjs";
import { describe, expect, it } from "vitest";
import * as LiveConsole from "../../../src/observe/sinks/LiveConsole.ts";
import { record, recorder, run } from "./fixtures.ts";

const frames = (written: readonly string[]): string[] => written.filter((text) => text.includes("\x1b[?2026h"));

describe("the live console", () => {
  it("fails once its output is broken, which switches it off", () => {
    const { terminal } = recorder({ broken: () => "nobody reads standard output any more" });
    const sink = LiveConsole.make({ terminal, refreshMs: 250, scheduler: new VirtualTimeScheduler() });
    expect(Effect.runSync(Effect.flip(sink.step(record(1)))).message).toBe("nobody reads standard output any more");
  });

  it("draws the first update at once and then at most one frame per refresh, the newest state", () => {
    const { terminal, written } = recorder();
    const scheduler = new VirtualTimeScheduler();
    const sink = LiveConsole.make({ terminal, refreshMs: 250, scheduler });
    Effect.runSync(sink.open(run));
    for (let step = 1; step <= 50; step++) Effect.runSync(sink.step(record(step)));
    expect(frames(written)).toHaveLength(2);
    scheduler.maxFrames = 250;
    scheduler.flush();
    expect(frames(written)).toHaveLength(3);
    expect(frames(written)[2]).toContain("step  50/200");
  });

  it("draws each frame over the last, in one write", () => {
    const { terminal, written } = recorder();
    const sink = LiveConsole.make({ terminal, refreshMs: 250, scheduler: new VirtualTimeScheduler() });
    Effect.runSync(sink.open(run));
    Effect.runSync(sink.step(record(1)));
    const [first, second] = frames(written);
    const height = first!.split("\n").length - 1;
    expect(second!.startsWith(`\x1b[?2026h\x1b[${height}A\r`)).toBe(true);
    expect(second!.endsWith("\x1b[J\x1b[?2026l")).toBe(true);
  });

  it("goes further up after the terminal became narrower and wrapped the last frame", () => {
    let columns = 100;
    const { terminal, written } = recorder({ columns: () => columns });
    const sink = LiveConsole.make({ terminal, refreshMs: 250, scheduler: new VirtualTimeScheduler() });
    Effect.runSync(sink.open(run));
    columns = 50;
    Effect.runSync(sink.step(record(1)));
    const [first, second] = frames(written);
    const wrapped = first!
      .slice("\x1b[?2026h\r".length)
      .split("\x1b[K\n")
      .slice(0, -1)
      .reduce((rows, line) => rows + Math.max(1, Math.ceil(line.length / 50)), 0);
    expect(second!.startsWith(`\x1b[?2026h\x1b[${wrapped}A\r`)).toBe(true);
  });

  it("leaves the last state on the screen and restores the cursor", () => {
    const { terminal, written } = recorder();
    const sink = LiveConsole.make({ terminal, refreshMs: 250, scheduler: new VirtualTimeScheduler() });
    Effect.runSync(sink.open(run));
    for (const step of [1, 2, 3]) Effect.runSync(sink.step(record(step)));
    Effect.runSync(sink.close({ _tag: "Completed" }));
    expect(written[0]).toBe("<hide>");
    expect(written.at(-1)).toBe("<show>");
    expect(written.at(-2)).toContain("step   3/200");
    expect(written.at(-2)).toContain("completed");
  });
});
