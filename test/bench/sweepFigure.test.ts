/** Figures of learning sweeps, drawn from records that are made up. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Effect, Result } from "effect";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { sweepFigure } from "../../bench/learning/figure.ts";
import { writeRecord } from "../../bench/learning/record.ts";
import type { SweepRecord } from "../../bench/learning/sweepRecords.ts";
import type { SweepPlan } from "../../pipelines/sweepPlan.ts";
import { pointsOf, runsOf, type SweepRun, settingsOf } from "../../src/tools/sweep/Point.ts";
import { read } from "../../src/tools/sweep/SweepFile.ts";
import { temporaryFolder } from "../temporaryFolder.ts";

type Sweep = Pick<SweepPlan, "name" | "file" | "points" | "runs">;

/** A sweep of the house as the program plans it, without the checks of its runs. */
const sweepNamed = (name: string): Sweep => {
  const text = readFileSync(join("config", "sweeps", `${name}.yaml`), "utf8");
  const file = Result.getOrThrow(read(parse(text), name));
  const points = Result.getOrThrow(pointsOf(file, name));
  return { name, file, points, runs: runsOf(file, points).map((run) => ({ run, overrides: [] })) };
};

/** A record of a run that learns faster the later its point stands in the sweep. */
const recordOf = ({ file, points }: Sweep, run: SweepRun): SweepRecord => {
  const speed = 0.01 + 0.002 * points.indexOf(run.point) + 0.001 * run.seed;
  const lines = [0, 100, 200, 300].map((step) => ({
    step,
    "val-env/success": 0.5 + 0.4 * (1 - Math.exp(-speed * step)),
    ...(step === 0 ? {} : { "ledger/tokens/admitted": 5000 * step, "mismatch/ess": 1 / (1 + speed) }),
  }));
  return {
    name: run.name,
    mode: "sync",
    seed: run.seed,
    steps: 300,
    machine: {
      processor: "none",
      cores: 1,
      memoryGiB: 1,
      platform: "none",
      node: "none",
      commit: "none",
      dirty: false,
    },
    seconds: 1,
    validations: [],
    records: lines,
    settings: settingsOf(file, run, []),
  };
};

const figureOf = (
  sweep: Sweep,
  isRecorded: (run: SweepRun) => boolean = () => true,
  changeOf: (run: SweepRun) => Partial<SweepRecord> = () => ({}),
): Promise<Result.Result<string, { readonly message: string }>> =>
  Effect.runPromise(
    Effect.scoped(
      Effect.map(temporaryFolder, (folder) => {
        for (const { run } of sweep.runs) {
          if (isRecorded(run)) writeRecord(folder, run.name, { ...recordOf(sweep, run), ...changeOf(run) });
        }
        return sweepFigure(sweep, folder);
      }),
    ),
  );

const count = (svg: string, text: string): number => svg.split(text).length - 1;

describe("the figure of a learning sweep", () => {
  it.each([
    // Two panels with a line for each of four corrections.
    {
      name: "staleness",
      lines: 8,
      dots: 80,
      thin: 0,
      x: "bound on staleness (eta), windows",
      y: "last validation success, %",
    },
    { name: "sampler", lines: 3, dots: 0, thin: 9, x: "tokens admitted, millions", y: "validation success, %" },
    {
      name: "sampler_sokoban",
      lines: 2,
      dots: 0,
      thin: 6,
      x: "tokens admitted, millions",
      y: "validation success, %",
    },
    { name: "snr", lines: 12, dots: 0, thin: 36, x: "tokens admitted, millions", y: "validation success, %" },
  ])(
    "has the lines, seeds and titles of $name, in colours for both themes",
    async ({ dots, lines, name, thin, x, y }) => {
      const svg = Result.getOrThrow(await figureOf(sweepNamed(name)));
      expect(count(svg, 'class="line"')).toBe(lines);
      expect(count(svg, 'class="faint"')).toBe(dots);
      expect(count(svg, 'class="thin"')).toBe(thin);
      expect(svg).toContain(`>${x}</text>`);
      expect(svg).toContain(`>${y}</text>`);
      const [light, dark] = svg.split("@media (prefers-color-scheme: dark)");
      expect(light).toContain(".s1 { color: #bc4c00 }");
      expect(dark).toContain(".s1 { color: #f0743a }");
      expect(svg).not.toMatch(/NaN|undefined|Infinity/);
    },
  );

  it("has the same bytes for the same records", async () => {
    const sweep = sweepNamed("snr");
    expect(await figureOf(sweep)).toEqual(await figureOf(sweep));
  });

  it("draws the runs that have a record, in the colours that they have among all", async () => {
    const only = (run: SweepRun) => run.point.name === "difficulty" && run.seed === 0;
    const svg = Result.getOrThrow(await figureOf(sweepNamed("sampler"), only));
    expect(count(svg, 'class="line"')).toBe(1);
    expect(count(svg, 'class="series s1"')).toBe(2);
    expect(svg).toContain("One run a point, so far.");
  });

  it("begins at no tokens, and takes the mean of the seeds at the steps that all of them have", async () => {
    const sweep = sweepNamed("sampler");
    const isDrawn = ({ point, seed }: SweepRun) => point === sweep.points[0] && seed < 2;
    const endsEarly = (run: SweepRun) => (run.seed === 1 ? { records: recordOf(sweep, run).records.slice(0, 2) } : {});
    const svg = Result.getOrThrow(await figureOf(sweep, isDrawn, endsEarly));
    expect(svg).toMatch(/class="line" d="M62 [\d.]+L[\d.]+ [\d.]+"/);
    expect(svg).toContain("(2 runs a point)");
  });

  it("refuses a folder without records, a sweep without a figure, and records of other settings", async () => {
    const messageOf = async (result: ReturnType<typeof figureOf>) =>
      Result.match(await result, { onFailure: ({ message }) => message, onSuccess: () => "" });
    expect(await messageOf(figureOf(sweepNamed("sampler"), () => false))).toMatch(/has no record; node bench/);
    expect(await messageOf(figureOf(sweepNamed("quick")))).toMatch(
      /"quick"; there is one for staleness, sampler, sampler_sokoban, snr/,
    );
    expect(
      await messageOf(
        figureOf(
          sweepNamed("sampler"),
          () => true,
          () => ({ settings: [] }),
        ),
      ),
    ).toMatch(/other settings/);
  });
});
