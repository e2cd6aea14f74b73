/** The result of a run, read from its folder: whole, killed, resumed, of an evaluation, and damaged or hostile ones. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bootstrap, clusterBootstrap, type Interval, wilson } from "../../../src/domain/intervals.ts";
import { initial, keyframeOf } from "../../../src/observe/record/events/Replay.ts";
import type { RunResult } from "../../../src/observe/record/RunResult.ts";
import { readRunResult } from "../../../src/observe/record/readRunResult.ts";
import { currentOwner } from "../../../src/support/process/Owner.ts";
import { assertProperty } from "../../property.ts";

let parent: string;
let folder: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "millrace-result-"));
  folder = join(parent, "lake", "20261124-100000");
  mkdirSync(join(folder, "checkpoints"), { recursive: true });
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));

const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
const lines = (objects: readonly unknown[]): string => objects.map((object) => `${JSON.stringify(object)}\n`).join("");

const config = (groupSize: number): string =>
  `run:\n  name: lake\ntrainer:\n  total_training_steps: 20\nes_manager:\n  train:\n    env_groups: 2\n    group_size: 4\n  val:\n    env_groups: 4\n    group_size: ${groupSize}\n`;

const start = 1_800_000_000_000;
const record = (step: number, more: Readonly<Record<string, number>> = {}) => ({
  step,
  time: start + step * 30_000,
  "timing_s/total": step * 30,
  ...more,
});
const validated = (success: number) => ({ "val-env/success": success });
const end = (outcome: string, message = "") => ({ step: 20, at: start, _tag: "End", outcome, message });

const checkpoint = (step: number): void => {
  mkdirSync(join(folder, "checkpoints", `step-${step}`));
  write(`checkpoints/step-${step}/manifest.json`, "{}");
};

/** A run of 20 steps that was at its best after step 10. */
const whole = (): void => {
  write("config.yaml", config(1));
  write(
    "metrics.jsonl",
    lines([
      { step: 0, time: start, ...validated(0.25) },
      record(10, validated(0.75)),
      record(20, { ...validated(0.5), "timing_s/testing": 60 }),
    ]),
  );
  write(
    "validations.jsonl",
    lines([
      { step: 0, version: 0, success: [1, 0, 0, 0] },
      { step: 10, version: 10, success: [1, 1, 1, 0] },
      { step: 20, version: 20, success: [1, 0, 0, 1] },
    ]),
  );
  write("events.jsonl", lines([{ step: 0, at: start, _tag: "Run" }, end("completed")]));
  for (const step of [10, 20]) checkpoint(step);
  symlinkSync("step-10", join(folder, "checkpoints", "best"));
};

const ends = ({ high, low }: Interval): readonly [number, number] => [low, high];

describe("the result of a run", () => {
  it("has its validations with their intervals, its steps, minutes and checkpoints", async () => {
    whole();
    const validation = (step: number, success: number) => ({
      step,
      success,
      interval: ends(wilson(success * 4, 4)),
      instances: 4,
      episodes: 4,
      failed: 0,
    });
    expect(await readRunResult(folder)).toEqual({
      name: "lake",
      folder,
      kind: "training",
      end: { _tag: "Completed" },
      steps: { done: 20, planned: 20 },
      minutes: 11,
      validation: { before: validation(0, 0.25), best: validation(10, 0.75), last: validation(20, 0.5) },
      checkpoint: {
        newest: { step: 20, path: join(folder, "checkpoints", "step-20") },
        best: { step: 10, path: join(folder, "checkpoints", "step-10") },
      },
      failedShare: null,
      cloning: null,
    } satisfies RunResult);
  });

  it("takes the bootstrap over instances where each was played more than once", async () => {
    whole();
    write("config.yaml", config(2));
    write("validations.jsonl", lines([{ step: 20, version: 20, success: [1, 0, 0, 0, 1, 1, 0, 1] }]));
    const { validation } = await readRunResult(folder);
    expect(validation.last?.interval).toEqual(ends(bootstrap([0.5, 0, 1, 0.5])));
    // The outcomes of the first one are lost, and counts alone do not say how they spread over instances.
    expect(validation.before?.interval).toBeNull();
  });

  it("takes seeds of one content for one instance", async () => {
    whole();
    const instances = ["a", "a", "b", null];
    write("validations.jsonl", lines([{ step: 20, version: 20, success: [1, 0, 0, 1], instances }]));
    const { validation } = await readRunResult(folder);
    const interval = ends(clusterBootstrap([[1, 0], [0], [1]]));
    expect(validation.last).toMatchObject({ instances: 3, episodes: 4, interval });
  });

  it("leaves failed episodes out of the share and its interval, and counts them", async () => {
    whole();
    write("metrics.jsonl", lines([record(20, { ...validated(2 / 3), "val-env/episodes/failed": 1 })]));
    const { validation } = await readRunResult(folder);
    expect(validation.last).toMatchObject({ success: 2 / 3, episodes: 4, failed: 1, interval: ends(wilson(2, 3)) });
    expect(validation.before).toBeNull();
  });

  it("has the share of training episodes that failed, those of refills included", async () => {
    whole();
    const failed = (step: number, count: number, refilled: number) =>
      record(step, { "train/episodes/failed": count, "rollout/refill_groups": refilled });
    write("metrics.jsonl", lines([failed(1, 4, 0), failed(2, 0, 2)]));
    expect((await readRunResult(folder)).failedShare).toBe(4 / 24);
  });

  it("counts a step that a resumed run made again once, as it was made last", async () => {
    whole();
    write("metrics.jsonl", lines([record(5, validated(1)), record(5, validated(0.5))]));
    expect((await readRunResult(folder)).validation.best).toMatchObject({ step: 5, success: 0.5 });
  });
});

describe("the end of a run", () => {
  it.each([
    [end("stopped", "interrupted"), { _tag: "Stopped", reason: "interrupted" }],
    [end("failed", "a thread ended"), { _tag: "Failed", message: "a thread ended" }],
    [end("exploded"), { _tag: "Killed" }],
    [{ step: 3, at: start, _tag: "Scored", window: 2 }, { _tag: "Killed" }],
  ])("after the last line %j is %j", async (last, expected) => {
    whole();
    write("metrics.jsonl", lines([record(3)]));
    write("events.jsonl", lines([{ step: 0, at: start, _tag: "Run" }, last]));
    expect((await readRunResult(folder)).end).toEqual(expected);
  });

  it("is that of the newest start", async () => {
    whole();
    write("metrics.jsonl", lines([record(3)]));
    const resumed = { step: 3, at: start, _tag: "Resumed" };
    write("events.jsonl", lines([end("stopped", "interrupted"), { step: 3, at: start, _tag: "Run" }, resumed]));
    expect((await readRunResult(folder)).end).toEqual({ _tag: "Killed" });
  });

  it("is found before a keyframe that is longer than what is looked at first", async () => {
    whole();
    const frame = {
      ...keyframeOf(initial),
      ended: { outcome: "failed", message: "no disk" },
      more: "x".repeat(400_000),
    };
    write("events.jsonl", lines([end("failed", "no disk"), { step: 20, at: start, _tag: "Keyframe", frame }]));
    expect((await readRunResult(folder)).end).toEqual({ _tag: "Failed", message: "no disk" });
  });

  it("is not there where the run was killed between its last step and its last line", async () => {
    whole();
    write("events.jsonl", lines([{ step: 0, at: start, _tag: "Run" }]));
    expect((await readRunResult(folder)).end).toEqual({ _tag: "Killed" });
  });

  it("is that of its last step where no events were written", async () => {
    whole();
    rmSync(join(folder, "events.jsonl"));
    expect((await readRunResult(folder)).end).toEqual({ _tag: "Completed" });
  });

  it("is not there while its process lives", async () => {
    whole();
    write("lock", JSON.stringify(await currentOwner("2026-11-24T10:00:00Z")));
    expect((await readRunResult(folder)).end).toEqual({ _tag: "Running" });
  });
});

describe("the result of an evaluation", () => {
  it("is its success with its interval, as its summary has it", async () => {
    write("config.yaml", config(1));
    const success = { mean: 0.5, low: 0.2, high: 0.8 };
    write(
      "summary.json",
      JSON.stringify({ evaluation: { finished: 10, planned: 10, failed: 0, seconds: 90, success } }),
    );
    expect(await readRunResult(folder)).toMatchObject({
      kind: "evaluation",
      end: { _tag: "Completed" },
      minutes: 1.5,
      validation: { last: { success: 0.5, interval: [0.2, 0.8], episodes: 10 } },
    });
  });
});

/** Values that no run writes. */
const strange = fc.constantFrom("1e300", "-1", "1e999", "null", '"x"', "[]", "{}", "0.5", '{"__proto__":1}', "");

const sharesOf = ({ failedShare, validation }: RunResult): readonly number[] =>
  [validation.before, validation.best, validation.last]
    .flatMap((each) => (each === null ? [] : [each.success, ...(each.interval ?? [])]))
    .concat(failedShare ?? []);

describe("a damaged folder", () => {
  it("has a result all the same: what cannot be read is null, and shares lie within 0 and 1", async () => {
    whole();
    write("summary.json", "");
    const names = ["config.yaml", "metrics.jsonl", "validations.jsonl", "events.jsonl", "summary.json", "lock"];
    const originals = new Map(
      names.map((name) => [name, name === "lock" ? "" : readFileSync(join(folder, name), "utf8")]),
    );
    const summary =
      '{"evaluation":{"finished":4,"planned":4,"failed":0,"seconds":9,"success":{"mean":0.5,"low":0.1,"high":0.9}}}';
    originals.set("summary.json", summary);
    const mutation = fc.record({
      name: fc.constantFrom(...names),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      value: strange,
      cut: fc.boolean(),
    });
    const plain = Array.from(originals).filter(([name]) => name !== "summary.json");
    await assertProperty(
      fc.asyncProperty(
        fc.array(mutation, { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        async (mutations, evaluated) => {
          const files = new Map(evaluated ? originals : plain);
          for (const { at, cut, name, value } of mutations) {
            const text = files.get(name) ?? "";
            const numbers = [...text.matchAll(/(?<=[:[,] ?)[\d.]+|"\w+"/g)];
            const place = numbers[Math.floor(at * (numbers.length - 1))];
            const from = place?.index ?? 0;
            const rest = cut ? "" : text.slice(from + (place?.[0].length ?? 0));
            files.set(name, text.slice(0, from) + value + rest);
          }
          rmSync(join(folder, "summary.json"), { force: true });
          for (const [name, text] of files) write(name, text);
          const result = await readRunResult(folder);
          for (const share of sharesOf(result)) expect(share >= 0 && share <= 1).toBe(true);
          expect(result.minutes === null || (Number.isFinite(result.minutes) && result.minutes >= 0)).toBe(true);
          expect(Number.isSafeInteger(result.steps.done)).toBe(true);
        },
      ),
    );
  });

  it.each(["events.jsonl", "metrics.jsonl", "config.yaml", "lock", "summary.json", "validations.jsonl"])(
    "is read where %s is a pipe or a folder",
    async (name) => {
      whole();
      const { end: before } = await readRunResult(folder);
      expect(before).toEqual({ _tag: "Completed" });
      rmSync(join(folder, name), { force: true });
      execFileSync("mkfifo", [join(folder, name)]);
      expect((await readRunResult(folder)).folder).toBe(folder);
      rmSync(join(folder, name));
      mkdirSync(join(folder, name));
      expect((await readRunResult(folder)).folder).toBe(folder);
    },
  );

  it("that is not there says its name", async () => {
    expect(await readRunResult(join(parent, "gone", "x"))).toMatchObject({ name: "gone", end: { _tag: "Killed" } });
  });

  it("has no checkpoint without a manifest", async () => {
    whole();
    rmSync(join(folder, "checkpoints", "step-20", "manifest.json"));
    expect((await readRunResult(folder)).checkpoint.newest?.step).toBe(10);
  });
});
