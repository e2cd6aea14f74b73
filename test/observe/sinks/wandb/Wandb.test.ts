import { readdirSync, readFileSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { afterEach, beforeEach, expect } from "vitest";
import type { RunInfo } from "../../../../src/observe/sinks/Sink.ts";
import { stepRecord } from "../../../build/records.ts";
import { collected } from "../../../warnings.ts";
import { run as base, sample } from "../fixtures.ts";
import { entriesIn, episode, runFolder, section, sinkWith, steps, stepsIn, temporary, wandbFile } from "./support.ts";

let folder: string;
let remove: () => void;
beforeEach(() => {
  ({ folder, remove } = temporary());
});
afterEach(() => remove());

const info = (over: Partial<RunInfo> = {}): RunInfo => ({ ...base, folder, ...over });

/** A run that is killed: nothing tells the sink. */
const killedAfter = (last: number) =>
  Effect.gen(function* () {
    const sink = sinkWith();
    yield* sink.open(info());
    yield* steps(sink, 0, last);
  });

describe("the Weights & Biases folder", () => {
  it.effect("has each step on disk when it is told, with its values, times and console line", () =>
    Effect.gen(function* () {
      const sink = sinkWith();
      yield* sink.open(info());
      yield* sink.step(stepRecord(1, { "train/success": 0.5, "odd/a": Number.NaN, "odd/b": Number.NEGATIVE_INFINITY }));
      const entries = yield* Effect.promise(() => entriesIn(wandbFile(folder)));
      const history = entries.find((entry) => entry._tag === "History");
      expect(Object.fromEntries(history?.items.map(({ json, path }) => [path.join(), json]) ?? [])).toEqual({
        step: "1",
        "train/success": "0.5",
        "odd/a": "NaN",
        "odd/b": "-Infinity",
        _timestamp: "1003",
        _runtime: "3",
        _step: "1",
      });
      expect(entries.findLast((entry) => entry._tag === "Output")?.line).toBe("step   1/200  success 0.500");
      expect(readFileSync(join(runFolder(folder), "files", "output.log"), "utf8")).toBe(
        `quickstart: async, max staleness 2, seed 0, ${folder}\nstep   1/200  success 0.500\n`,
      );
    }),
  );

  it.effect("defines each metric over `step`, which has no chart of its own, before a step has it", () =>
    Effect.gen(function* () {
      const sink = sinkWith();
      yield* sink.open(info());
      yield* sink.step(stepRecord(1, { "custom/mine": 1, "train/success": 1 }));
      yield* sink.step(stepRecord(2, { "custom/mine": 1 }));
      const entries = yield* Effect.promise(() => entriesIn(wandbFile(folder)));
      const metrics = entries.flatMap((entry) => (entry._tag === "Metric" ? [entry] : []));
      expect(metrics[0]).toEqual({ _tag: "Metric", name: "step", stepMetric: "", hidden: true });
      expect(metrics.slice(1).every(({ hidden, stepMetric }) => stepMetric === "step" && !hidden)).toBe(true);
      const names = metrics.map(({ name }) => name);
      expect(names.filter((name) => name === "custom/mine")).toHaveLength(1);
      expect(names).toEqual(expect.arrayContaining(["actor/pg_loss", "stage/*"]));
      expect(names).not.toContain("*");
      const defined = entries.findIndex((entry) => entry._tag === "Metric" && entry.name === "custom/mine");
      expect(defined).toBeLessThan(entries.findIndex((entry) => entry._tag === "History"));
    }),
  );

  it.effect("ends with the exit code of the outcome", () =>
    Effect.gen(function* () {
      for (const [outcome, code] of [
        [{ _tag: "Completed" }, 0],
        [{ _tag: "Stopped", reason: "interrupted" }, 0],
        [{ _tag: "Failed", message: "no engine" }, 1],
      ] as const) {
        const at = join(folder, outcome._tag);
        const sink = sinkWith();
        yield* sink.open(info({ folder: at }));
        yield* sink.step(stepRecord(1));
        yield* sink.close(outcome);
        const entries = yield* Effect.promise(() => entriesIn(wandbFile(at)));
        expect(entries.at(-1)).toMatchObject({ _tag: "Exit", code });
        const summary = JSON.parse(readFileSync(join(runFolder(at), "files", "wandb-summary.json"), "utf8"));
        expect(summary).toMatchObject({ _step: 1, step: 1, _wandb: { runtime: 3 } });
      }
    }),
  );

  it.effect("holds the notices of the run, and its system metrics every ten seconds", () =>
    Effect.gen(function* () {
      const sink = sinkWith();
      yield* sink.open(info());
      yield* sink.event?.({ _tag: "UpdateSkipped", window: 3, groups: [], reason: "gradient" }) ?? Effect.void;
      yield* sink.event?.({ _tag: "WeightsAdopted", version: 3 }) ?? Effect.void;
      for (const elapsed of [0, 4000, 9999, 10_000, 19_999, 20_000])
        yield* sink.gauges?.(sample(elapsed)) ?? Effect.void;
      const entries = yield* Effect.promise(() => entriesIn(wandbFile(folder)));
      expect(entries.flatMap((entry) => (entry._tag === "Output" ? [entry.line] : []))).toEqual([
        `quickstart: async, max staleness 2, seed 0, ${folder}`,
        "window 3: update skipped, gradient",
      ]);
      const stats = entries.flatMap((entry) => (entry._tag === "Stats" ? [entry] : []));
      expect(stats.map(({ time }) => time)).toEqual([1_010_000, 1_020_000]);
      const values = Object.fromEntries(stats[0]?.items.map(({ json, path }) => [path.join(), Number(json)]) ?? []);
      expect(values).toMatchObject({
        cpu: 100,
        "proc.cpu.cores": 2,
        "proc.loop_lag.p99_ms": 4,
        "proc.loop_lag.max_ms": 9,
      });
      expect(values["proc.memory.rssMB"]).toBeCloseTo(476.8, 1);
    }),
  );
});

describe("the tables", () => {
  it.effect("grow by the rows of each validation, with a file that the history and the files record name", () =>
    Effect.gen(function* () {
      const sink = sinkWith();
      yield* sink.open(info());
      for (const step of [0, 5]) {
        yield* sink.episodes?.([episode("val", step), episode("val", step, 1)]) ?? Effect.void;
        yield* sink.step(stepRecord(step));
        yield* sink.step(stepRecord(step + 1));
      }
      const entries = yield* Effect.promise(() => entriesIn(wandbFile(folder)));
      const alerts = entries.flatMap((entry) => {
        if (entry._tag !== "History") return [];
        const items = entry.items.filter(({ path }) => path[0] === "val/generations");
        return items.length === 0
          ? []
          : [Object.fromEntries(items.map(({ json, path }) => [path[1], JSON.parse(json)]))];
      });
      expect(alerts.map((table) => table.nrows)).toEqual([2, 4]);
      const last = alerts[1]!;
      expect(last).toMatchObject({ _type: "table-file", log_mode: "IMMUTABLE" });
      const path = join(runFolder(folder), "files", String(last.path));
      expect(statSync(path).size).toBe(last.size);
      const table = JSON.parse(readFileSync(path, "utf8"));
      expect(table.columns).toHaveLength(Number(last.ncols));
      const rows = table.data.map((row: unknown[]) =>
        Object.fromEntries(row.map((cell, at) => [table.columns[at], cell])),
      );
      expect(rows[3]).toMatchObject({ step: 5, member: 1, success: false, reward: 0, tag: "Bandit", seed: 1005 });
      expect(rows[0].transcript).toBe("[user]\npull\n\n[assistant]\n<answer>A</answer>");
      expect(entries.flatMap((entry) => (entry._tag === "Files" ? entry.paths : []))).toContain(last.path);
    }),
  );

  it.effect("go on where a resumed run goes on, without the rows of steps that are done again", () =>
    Effect.gen(function* () {
      const first = sinkWith();
      yield* first.open(info());
      for (const step of [2, 4]) {
        yield* first.episodes?.([episode("val", step)]) ?? Effect.void;
        yield* first.step(stepRecord(step));
      }
      const second = sinkWith();
      yield* second.open(info({ from: 3 }));
      yield* second.episodes?.([episode("val", 4)]) ?? Effect.void;
      yield* second.step(stepRecord(4));
      const media = join(runFolder(folder), "files", "media", "table", "val");
      const newest = readdirSync(media).find((name) => name.startsWith("generations_4_"))!;
      const { data } = JSON.parse(readFileSync(join(media, newest), "utf8"));
      expect(data.map((row: unknown[]) => row[0])).toEqual([2, 4]);
      expect(readdirSync(media)).toHaveLength(2);
    }),
  );
});

describe("a run that goes on", () => {
  it.effect("has one folder and one id, each step once, and its time added up", () =>
    Effect.gen(function* () {
      yield* killedAfter(6);
      const path = wandbFile(folder);
      const sink = sinkWith();
      yield* sink.open(info({ from: 4, started: 9_000_000 }));
      for (const step of [4, 5, 6, 7]) yield* sink.step({ ...stepRecord(step), time: 9_000_000 + (step - 4) * 1000 });
      yield* sink.close({ _tag: "Completed" });
      expect(wandbFile(folder)).toBe(path);
      expect(yield* Effect.promise(() => stepsIn(path))).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
      const entries = yield* Effect.promise(() => entriesIn(path));
      const seconds = entries.flatMap((entry) =>
        entry._tag === "History"
          ? entry.items.filter(({ path: [name] }) => name === "_runtime").map(({ json }) => Number(json))
          : [],
      );
      expect(seconds).toEqual([0, 3, 6, 9, 12, 13, 14, 15]);
    }),
  );

  it.effect("drops the end of a run that was stopped", () =>
    Effect.gen(function* () {
      const first = sinkWith();
      yield* first.open(info());
      yield* steps(first, 0, 3);
      yield* first.close({ _tag: "Stopped", reason: "interrupted" });
      const second = sinkWith();
      yield* second.open(info({ from: 3 }));
      yield* steps(second, 4, 5);
      yield* second.close({ _tag: "Completed" });
      const entries = yield* Effect.promise(() => entriesIn(wandbFile(folder)));
      expect(entries.filter(({ _tag }) => _tag === "Exit")).toHaveLength(1);
      expect(entries.at(-1)?._tag).toBe("Exit");
      expect(yield* Effect.promise(() => stepsIn(wandbFile(folder)))).toEqual([0, 1, 2, 3, 4, 5]);
    }),
  );

  it.effect("is whole again wherever its file was torn", () =>
    Effect.gen(function* () {
      yield* killedAfter(3);
      const path = wandbFile(folder);
      const { size } = statSync(path);
      // From the end backwards, so that each cut is torn anew.
      for (let cut = size; cut > 0; cut -= 487) {
        truncateSync(path, cut);
        const sink = sinkWith();
        yield* sink.open(info({ from: 2 }));
        yield* steps(sink, 0, 3);
        const found = yield* Effect.promise(() => stepsIn(path));
        expect(found).toEqual([0, 1, 2, 3]);
      }
    }),
  );

  it.effect("says no to a step that it has already", () =>
    Effect.gen(function* () {
      const sink = sinkWith();
      yield* sink.open(info());
      yield* steps(sink, 1, 2);
      yield* steps(sink, 1, 3);
      expect(yield* Effect.promise(() => stepsIn(wandbFile(folder)))).toEqual([1, 2, 3]);
    }),
  );
});

describe("mode online without a key", () => {
  it.effect("says so in one line and writes the folder", () => {
    const { layer, lines } = collected();
    return Effect.gen(function* () {
      const sink = sinkWith({ config: { ...section, mode: "online" } });
      yield* sink.open(info());
      yield* sink.step(stepRecord(1));
      yield* sink.close({ _tag: "Completed" });
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(/WANDB_API_KEY is not set; the run is written to .*offline-run-.*, for `wandb sync`/);
      expect(yield* Effect.promise(() => stepsIn(wandbFile(folder)))).toEqual([1]);
    }).pipe(Effect.provide(layer));
  });
});

describe("a folder that cannot be written to", () => {
  it.effect("is named in one sentence", () =>
    Effect.gen(function* () {
      const sink = sinkWith();
      yield* sink.open(info({ folder }));
      const error = yield* Effect.flip(sinkWith().open(info({ folder: `${wandbFile(folder)}/under` })));
      expect(error.message).toContain("cannot write to");
      expect(error.message).toContain("ENOTDIR");
    }),
  );
});
