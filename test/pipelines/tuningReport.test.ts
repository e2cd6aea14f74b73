import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Console, Effect } from "effect";
import { expect } from "vitest";
import { checkOutput, report, type TuneOptions } from "../../pipelines/tuningReport.ts";
import { load } from "../../src/config/resolve.ts";
import type { Throughput } from "../../src/tools/tuning/ObservedRun.ts";
import type { Result } from "../../src/tools/tuning/Results.ts";
import { settingsOf } from "../../src/tools/tuning/Space.ts";
import type { TuningState } from "../../src/tools/tuning/Tuning.ts";
import { temporaryFolder } from "../temporaryFolder.ts";

const pace = (windowsPerHour: number): Throughput => ({
  windowsPerHour,
  trainedPerSecond: windowsPerHour,
  staleShare: 1,
  meanBehind: 2,
  mostBehind: 2,
});

const reported = Effect.fnUntraced(function* (options: TuneOptions, tuning: TuningState) {
  const lines: string[] = [];
  const console = yield* Console.Console;
  yield* report(options, tuning, settingsOf(options.config), false).pipe(
    Effect.provideService(Console.Console, { ...console, log: (line: string) => void lines.push(line) }),
  );
  return lines;
});

const optionsIn = Effect.fnUntraced(function* (dir: string, overrides: readonly string[] = []) {
  const options: TuneOptions = {
    config: yield* load("quickstart", overrides, "config"),
    name: "quickstart",
    overrides,
    budgetMinutes: 10,
    maxStaleness: null,
    output: join(dir, "tuned.yaml"),
    cores: 2,
  };
  return options;
});

/** The run file's settings, and others that are a fifth faster. */
const knownOf = ({ config }: TuneOptions, before: Partial<Result> = {}, other: Partial<Result> = {}): TuningState => {
  const settings = settingsOf(config);
  return {
    observed: [],
    results: [
      { settings, predicted: pace(1000), measured: [pace(1000), pace(1000)], ...before },
      {
        settings: { ...settings, slots: 48, lanes: 1 },
        predicted: pace(1200),
        measured: [pace(1200), pace(1200)],
        ...other,
      },
    ],
    others: [],
    count: 2,
    correction: new Map([[64, 1]]),
  };
};

describe("the report of tune", () => {
  it.live("writes a run file over the tuned one, with the overrides that were given", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const dir = yield* temporaryFolder;
        const options = yield* optionsIn(dir, ["es_manager.train.group_size=4"]);
        const lines = yield* reported(options, knownOf(options));
        expect(lines).toContain("+20 % windows an hour over the run file");
        const config = yield* load(join(dir, "tuned.yaml"), [], "config");
        expect(config).toEqual({
          ...options.config,
          generation: { ...options.config.generation, slots: 48 },
          model: { ...options.config.model, learner_lanes: 1 },
        });
        const text = yield* Effect.promise(() => readFile(join(dir, "tuned.yaml"), "utf8"));
        expect(text).toMatch(/^# .*1200 windows an hour/);
      }),
    ),
  );

  const unconvincing: readonly (readonly [string, string, Partial<Result>, Partial<Result>])[] = [
    [
      "the run file is as good",
      "the settings of the run file are as good as any that were found: nothing is written",
      {},
      { predicted: pace(1010), measured: [pace(1010)] },
    ],
    [
      "other settings were run once",
      "+20 % windows an hour, by one run: nothing is written; a longer --budget runs it again",
      {},
      { measured: [pace(1200)] },
    ],
    [
      "runs of the same settings differ by more than the gain",
      "+20 % windows an hour, but runs of the same settings differ by 30 %: nothing is written; a longer --budget or a quieter machine tells more",
      { measured: [pace(700), pace(1300)] },
      {},
    ],
    [
      "nothing but the run file was run",
      "no real run has confirmed other settings: nothing is written",
      {},
      { measured: [] },
    ],
  ];
  it.live.each(unconvincing)("writes nothing where %s", ([, last, before, other]) =>
    Effect.scoped(
      Effect.gen(function* () {
        const dir = yield* temporaryFolder;
        const options = yield* optionsIn(dir);
        const lines = yield* reported(options, knownOf(options, before, other));
        expect(lines.at(-1)).toBe(last);
        expect(yield* Effect.promise(() => readdir(dir))).toEqual([]);
      }),
    ),
  );

  it.live("refuses a run file over itself, and a key that is left out", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const dir = yield* temporaryFolder;
        const options = yield* optionsIn(dir);
        const itself = yield* Effect.flip(checkOutput({ ...options, output: join(dir, "quickstart.yaml") }));
        expect(itself.message).toContain("quickstart.tuned.yaml");
        const without = yield* Effect.flip(checkOutput({ ...options, overrides: ["~generation.slots"] }));
        expect(without.message).toContain("~generation.slots");
      }),
    ),
  );
});
