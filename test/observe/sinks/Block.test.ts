import { describe, expect, it } from "vitest";
import { blockLines, widthOf } from "../../../src/observe/sinks/Block.ts";
import type { Update } from "../../../src/observe/sinks/Sink.ts";
import { initialView, updateView, type View } from "../../../src/observe/sinks/View.ts";
import { finished } from "../../build/events.ts";
import { stepRecord } from "../../build/records.ts";
import { run, sample, stage } from "./fixtures.ts";

const view = (updates: readonly Update[]): View => updates.reduce(updateView, initialView(run));
const text = (shown: View, columns = 101, unicode = true): string[] =>
  blockLines(shown, { columns, unicode }).map((line) =>
    line
      .map((segment) => segment.text)
      .join("")
      .trimEnd(),
  );

const metrics = {
  "train/success": 0.742,
  "train/charts/avg_episode_return": 0.83,
  "rollout/filter_kept_ratio": 0.625,
  "staleness/mean": 1.24,
  "staleness/max": 3,
  "tokens/trained_per_second": 11_900,
};
const early = [stage("rollout", { concurrency: 24 }), stage("generate", { kind: "service", concurrency: 128 })];
const late = [
  stage("rollout", {
    concurrency: 24,
    running: 20,
    blocked: 4,
    queue: 3,
    items: 100,
    busyMs: 120_000,
    blockedMs: 60_000,
    starvedMs: 60_000,
    queueMs: 4000,
  }),
  stage("generate", { kind: "service", concurrency: 128, running: 128, queue: 40, items: 20_000, busyMs: 800_000 }),
];
const midway = view([
  { _tag: "Step", record: stepRecord(36, { "train/success": 0.5 }) },
  { _tag: "Step", record: stepRecord(37, metrics) },
  { _tag: "Sample", sample: sample(182_000, early, 1_000_000) },
  { _tag: "Sample", sample: sample(192_000, late, 1_142_000) },
]);

describe("the live block", () => {
  it("shows where the run is, what it earns and what each stage does", () => {
    expect(text(midway)).toEqual([
      "millrace  quickstart · async, max staleness 2 · seed 0                             runs/quickstart/1",
      `step  37/200 ${"━".repeat(10)}${"─".repeat(46)} 19%  3m12s elapsed, 8m09s left`,
      "",
      "success 0.742 ▁█   return 0.830   kept 63%",
      "tokens/s 14.2k generated   11.9k trained   staleness 1.2 (max 3)   groups in flight 24",
      "",
      "stage     █ busy ▒ blocked · starved                   busy    slots   queue   done    each    wait",
      `rollout   ${"█".repeat(22)}${"▒".repeat(11)}${"·".repeat(11)}  50%    24/24     3/8    100    1.2s    40ms`,
      `generate  ${"█".repeat(44)} 100%  128/128      40  20.0k    40ms     0ms`,
    ]);
  });

  it("has a line for a window that has lasted more than 10 s, until the run ends", () => {
    const long = updateView(midway, { _tag: "Sample", sample: sample(192_001, late, 1_142_000) });
    expect(text(midway)[2]).toBe("");
    expect(text(long)[2]).toBe("step 38: 0 of 1024 episodes, 20.0k turns, 142k tokens, 10.0s so far");
    expect(text(updateView(long, { _tag: "Close", outcome: { _tag: "Completed" } }))[2]).toBe("");
  });

  it("puts the shares of episodes that failed beside success", () => {
    const shares = { "train/ended/failed": 0.875, "val-env/success": 1, "val-env/ended/failed": 0.25 };
    const failing = updateView(midway, { _tag: "Step", record: stepRecord(38, { "train/success": 1, ...shares }) });
    expect(text(failing)[3]).toBe(
      "success 1.000 ▁▄█   failed 88%   return 0.830   validation 1.000   failed 25%   kept 63%",
    );
  });

  it("fits any width, dropping columns and figures rather than wrapping", () => {
    for (let columns = 20; columns <= 160; columns++) {
      for (const line of blockLines(midway, { columns, unicode: true }))
        expect(widthOf(line)).toBeLessThan(Math.max(21, columns));
    }
    expect(text(midway, 50).at(-1)).toBe(`generate  ${"█".repeat(17)} 100%  128/128      40`);
  });

  it("uses only ASCII where the terminal knows no more", () => {
    expect(text(midway, 101, false).join("\n")).toMatch(/^[\x20-\x7e\n]*$/);
  });

  it("shows a run that has just opened", () => {
    expect(text(view([]))).toEqual([
      "millrace  quickstart · async, max staleness 2 · seed 0                             runs/quickstart/1",
      `step   0/200 ${"─".repeat(71)} 0%  0ms elapsed`,
      "",
      "success -   return -",
      "tokens/s 0 generated",
    ]);
  });

  it("adds notices and, at the end, the outcome", () => {
    const ended = view([
      { _tag: "Event", event: { _tag: "Validated", step: 10, success: 0.7 } },
      { _tag: "Event", event: finished(1) },
      { _tag: "Event", event: { _tag: "Stalled", silentMs: 60_000, lines: ["update waits for items from credit"] } },
      { _tag: "Close", outcome: { _tag: "Failed", message: "the learner died" } },
    ]);
    expect(text(ended).slice(5)).toEqual([
      "",
      "step 10: validation success 70%",
      "nothing happened for 1m00s:",
      "  update waits for items from credit",
      "",
      "failed: the learner died",
    ]);
  });
});
