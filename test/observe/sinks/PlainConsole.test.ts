import { Effect } from "effect";
import { describe, expect, it } from "vitest";
import * as PlainConsole from "../../../src/observe/sinks/PlainConsole.ts";
import { isUnicode } from "../../../src/observe/sinks/Terminal.ts";
import { noticeText } from "../../../src/observe/sinks/View.ts";
import { finished } from "../../build/events.ts";
import { stepRecord } from "../../build/records.ts";
import { recorder, run, sample } from "./fixtures.ts";

describe("the plain console", () => {
  it("fails once its output is broken, which switches it off", () => {
    let broken: string | null = null;
    const { terminal, written } = recorder({ broken: () => broken });
    const sink = PlainConsole.make(terminal);
    Effect.runSync(sink.open(run));
    broken = "nobody reads standard output any more";
    expect(Effect.runSync(Effect.flip(sink.step(stepRecord(1)))).message).toBe(broken);
    expect(written).toHaveLength(1);
  });

  it("prints one line per step and per notice, without control characters", () => {
    const { terminal, written } = recorder();
    const sink = PlainConsole.make(terminal);
    const event = sink.event ?? (() => Effect.void);
    const metrics = {
      "train/success": 0.742,
      "train/charts/avg_episode_return": 0.83,
      "rollout/filter_kept_ratio": 0.625,
      "staleness/mean": 1.24,
      "staleness/max": 3,
      "tokens/generated_per_second": 14_200,
      "timing_s/step": 3.21,
    };
    Effect.runSync(
      Effect.all([
        sink.open(run),
        sink.step(stepRecord(37, metrics)),
        event(finished(3)),
        event({ _tag: "CheckpointWritten", step: 37, folder: "c/step-37" }),
        // Nothing is generated while the last windows are trained on.
        sink.step(stepRecord(38, { "tokens/generated_per_second": 0 })),
        event({ _tag: "Stopped", reason: "stopped", steps: 2 }),
        sink.close({ _tag: "Stopped", reason: "stopped" }),
      ]),
    );
    expect(written).toEqual([
      "quickstart: async, max staleness 2, seed 0, runs/quickstart/1\n",
      "step  37/200  success 0.742  return 0.830  kept 63%  stale 1.2/3  14.2k tok/s  3.2s\n",
      "step 37: checkpoint c/step-37\n",
      "step  38/200\n",
      "stopping: 2 more steps first, as their groups are played or in play; then a checkpoint\n",
      "stopped\n",
    ]);
  });

  it("tells of a window's progress once it has lasted more than 30 s, and then every 30 s", () => {
    const { terminal, written } = recorder();
    const sink = PlainConsole.make(terminal);
    const sampleUntil = (from: number, seconds: number) => {
      for (let ms = from; ms <= from + seconds * 1000; ms += 500)
        Effect.runSync(sink.gauges?.(sample(ms)) ?? Effect.void);
    };
    Effect.runSync(sink.open(run));
    written.length = 0;
    sampleUntil(0, 30);
    expect(written).toEqual([]);
    sampleUntil(30_500, 60);
    expect(written).toEqual([
      "step 1/200: 0 of 1024 episodes, 30.5s so far\n",
      "step 1/200: 0 of 1024 episodes, 1m01s so far\n",
    ]);
    Effect.runSync(sink.step(stepRecord(1)));
    written.length = 0;
    sampleUntil(91_000, 30);
    expect(written).toEqual([]);
    sampleUntil(121_500, 0);
    expect(written).toEqual(["step 2/200: 0 of 1024 episodes, 30.5s so far\n"]);
  });

  it("puts the share of episodes that failed behind success, where some did", () => {
    const line = (metrics: Readonly<Record<string, number>>) => PlainConsole.stepLine(run, stepRecord(37, metrics));
    expect(line({ "train/success": 1, "train/ended/failed": 0.875, "val-env/success": 1 })).toBe(
      "step  37/200  success 1.000  failed 88%  val 1.000",
    );
    expect(line({ "val-env/success": 1, "val-env/ended/failed": 0.004 })).toBe(
      "step  37/200  val 1.000  val failed <1%",
    );
    expect(line({ "train/success": 1, "train/ended/failed": 0 })).toBe("step  37/200  success 1.000");
  });

  it("prints three groups that fail for one reason, and says where the others are counted", () => {
    const { terminal, written } = recorder();
    const sink = PlainConsole.make(terminal);
    Effect.runSync(sink.open(run));
    written.length = 0;
    for (const [group, reason] of ["crash", "crash", "hang", "crash", "crash"].entries())
      Effect.runSync(sink.event?.({ ...finished(group), failed: true, reason }) ?? Effect.void);
    expect(written).toEqual([
      "group 0 failed: crash\n",
      "group 1 failed: crash\n",
      "group 2 failed: hang\n",
      "group 3 failed: crash\n  later ones are counted in the share of failed episodes beside success\n",
    ]);
  });

  it("says of a validation how many of its episodes failed", () => {
    expect(noticeText({ _tag: "Validated", step: 4, success: 1, failed: 0.875 })).toBe(
      "step 4: validation success 100%, 88% of the episodes failed",
    );
    expect(noticeText({ _tag: "Validated", step: 4, failed: 1 })).toBe(
      "step 4: validation success unknown, no episode could be used",
    );
  });
});

describe("a terminal's characters", () => {
  it.each([
    [{ LANG: "en_GB.UTF-8" }, "linux", true],
    [{ LANG: "en_GB.UTF-8", LC_ALL: "C" }, "linux", false],
    [{}, "linux", false],
    [{ LC_CTYPE: "C.utf8" }, "linux", true],
    [{}, "darwin", true],
    [{ WT_SESSION: "1" }, "win32", true],
    [{}, "win32", false],
  ])("with %o on %s are Unicode: %s", (env, platform, expected) => {
    expect(isUnicode(env, platform)).toBe(expected);
  });
});
