/** The tune command whole, over real threads, on the run of seconds. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Console, Effect } from "effect";
import { expect } from "vitest";
import { tune } from "../../pipelines/tune.ts";
import type { TuneOptions } from "../../pipelines/tuningReport.ts";
import type { ProgressBar } from "../../src/support/process/ProgressBar.ts";
import * as Stop from "../../src/support/process/Stop.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { writeModel } from "./tiny.ts";

const place = Effect.tap(temporaryFolder, writeModel);

const optionsIn = (dir: string): TuneOptions => ({
  config: tinyConfig(dir, { pipeline: { mode: "async", max_staleness: 1 } }),
  name: "quickstart",
  overrides: ["run.seed=3"],
  budgetMinutes: 0.05,
  maxStaleness: null,
  output: join(dir, "tuned.yaml"),
  cores: 1,
});

interface Said {
  readonly lines: string[];
  readonly shown: string[];
}

/** Tunes, and gives what was printed and what the progress bar showed. */
const tuned = (
  options: TuneOptions,
  onShow: (text: string) => Effect.Effect<void, never, Stop.Stop> = () => Effect.void,
) =>
  Effect.gen(function* () {
    const said: Said = { lines: [], shown: [] };
    const context = yield* Effect.context<Stop.Stop>();
    const progress: ProgressBar = {
      show: (_, text) => {
        said.shown.push(text);
        Effect.runForkWith(context)(onShow(text));
      },
      print: () => undefined,
      close: () => undefined,
    };
    const console = yield* Console.Console;
    const log = (line: string) => void said.lines.push(line);
    yield* tune(options, progress).pipe(Effect.provideService(Console.Console, { ...console, log }));
    return said;
  });

const patience = 240_000;

describe("millrace tune", () => {
  it.live(
    "measures, searches, confirms, and prints predicted beside measured throughput",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* place;
          const { lines, shown } = yield* tuned(optionsIn(dir));
          expect(shown).toContain("the run file as it is");
          expect(shown).toContain("searching in virtual time");
          expect(shown.some((text) => text.startsWith("confirming, run 1 of"))).toBe(true);
          const [runFileRow] = lines.filter((line) => line.includes("as in the run file"));
          expect(runFileRow).toMatch(/\d+ .*[+-]\d.* %/);
          const files = yield* Effect.promise(() => readdir(dir));
          const wrote = lines.some((line) => line.startsWith("wrote "));
          expect(wrote).toBe(files.includes("tuned.yaml"));
          expect(files.filter((file) => file.includes("partial"))).toEqual([]);
          if (!wrote) return;
          const text = yield* Effect.promise(() => readFile(join(dir, "tuned.yaml"), "utf8"));
          expect(text).toContain("defaults:\n  - quickstart");
        }),
      ).pipe(Effect.provide(Stop.layerWithoutSignals)),
    patience,
  );

  it.live(
    "ends with what it knows when it is asked to stop",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* place;
          const stop = yield* Stop.Stop;
          const second = "one generator thread and one lane, each alone";
          const { lines } = yield* tuned(optionsIn(dir), (text) => (text === second ? stop.request : Effect.void));
          expect(lines).toEqual(["stopped after 1 short runs: too early for a table; nothing is written"]);
          expect(yield* Effect.promise(() => readdir(dir))).not.toContain("tuned.yaml");
        }),
      ).pipe(Effect.provide(Stop.layerWithoutSignals)),
    patience,
  );
});
