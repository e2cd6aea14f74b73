/**
 * `millrace sweep`: trains or evaluates at every point of a sweep file under every seed, some runs at once, and compares the points in a table
 * with intervals and on one page. Invariants: nothing runs before every point is checked; what is finished is not run again, and what was
 * stopped goes on, both told from the runs' own folders; a run that fails does not end the others.
 */
import { join } from "node:path";
import { Console, DateTime, Effect, Result, Schema, Semaphore } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { readText } from "../src/config/readText.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { monotonicMillis } from "../src/domain/Instant.ts";
import { entryOf } from "../src/domain/metrics/Catalogue.ts";
import type { SweepData } from "../src/observe/watch/page/sweep/SweepData.ts";
import { sweepDocumentOf } from "../src/observe/watch/report/document.ts";
import { mainMetricNames } from "../src/observe/watch/report/mainMetrics.ts";
import { replaceText } from "../src/support/files/AtomicWrite.ts";
import { version } from "../src/support/files/packageRoot.ts";
import { Stop } from "../src/support/process/Stop.ts";
import type { Pair } from "../src/tools/evaluation/Comparison.ts";
import type { Point } from "../src/tools/sweep/Point.ts";
import * as Results from "../src/tools/sweep/Results.ts";
import { curvesIn, joinCurves } from "./sweepCurves.ts";
import { evaluationsOfPoint, intervalsOverInstances, pairLines, pairsOf, valuesIn } from "./sweepEvaluations.ts";
import { configOf, type PlannedRun, planOf, type SweepPlan } from "./sweepPlan.ts";
import { type ExitStatus, type Runner, runProcess } from "./sweepRun.ts";
import { evaluationState, type RunState, stateOf } from "./sweepState.ts";
import { table } from "./table.ts";

export interface SweepOptions {
  readonly file: string;
  readonly overrides: readonly string[];
  readonly jobs: number;
  readonly list: boolean;
}

/** Some runs failed; the others are done. */
export class RunsFailed extends Schema.TaggedError<RunsFailed>()("RunsFailed", { message: Schema.String }) {}

/** A run of the sweep, and where it stands. */
interface SweepRunState {
  readonly planned: PlannedRun;
  readonly config: RunConfig;
  /** Its own folder within the sweep's, with a folder for each start. */
  readonly folder: string;
  readonly state: RunState;
}

const write = (path: string, text: string) =>
  Effect.mapError(
    replaceText(path, text),
    ({ message }) => new BadInput({ message: `sweep: cannot write ${path}: ${message}` }),
  );

/** Reads the state of a run, by command. */
const stateIn = { train: stateOf, evaluate: evaluationState } as const;

/** The folder of a run below the sweep's; `millrace evaluate` names its own so. */
const folderOf = ({ file, folder }: SweepPlan, { run }: PlannedRun): string =>
  join(folder, file.command === "evaluate" ? `${run.name}-evaluate` : run.name);

const runStates = Effect.fnUntraced(function* (plan: SweepPlan) {
  const { command } = plan.file;
  return yield* Effect.forEach(plan.runs, (planned) =>
    Effect.gen(function* () {
      const { config } = yield* configOf(command, plan.configName, planned.overrides);
      const runFolder = folderOf(plan, planned);
      const standing: SweepRunState = {
        planned,
        config,
        folder: runFolder,
        state: yield* stateIn[command](runFolder, config),
      };
      return standing;
    }),
  );
});

type FinishedRuns = ReadonlyMap<Point, readonly Results.Finished[]>;

/** Reads a finished run's curves, each run's once: the table's metrics, and those that a report draws. */
const curvesReader = ({ file }: SweepPlan): ((folder: string) => Results.Curves) => {
  const metrics = new Set([...Results.metricsOf(file.metrics), ...mainMetricNames]);
  const curvesByFolder = new Map<string, Results.Curves>();
  const read = file.command === "evaluate" ? valuesIn : curvesIn;
  return (folder) => {
    const curves = curvesByFolder.get(folder) ?? read(folder, (metric) => metrics.has(metric));
    curvesByFolder.set(folder, curves);
    return curves;
  };
};

/** The curves of each point's finished runs. */
const finishedOf = (
  plan: SweepPlan,
  standing: readonly SweepRunState[],
  read: (folder: string) => Results.Curves,
): FinishedRuns =>
  new Map(
    plan.points.map((point) => [
      point,
      standing.flatMap(({ planned: { run }, state }) =>
        run.point === point && state._tag === "Finished" ? [{ seed: run.seed, curves: read(state.folder) }] : [],
      ),
    ]),
  );

/** The finished evaluations of each point; none of a sweep that trains. */
const evaluationsOf = ({ file, points }: SweepPlan, standing: readonly SweepRunState[]) =>
  Effect.forEach(file.command === "evaluate" ? points : [], (point) => {
    const folders = standing.flatMap(({ planned: { run }, state }) =>
      run.point === point && state._tag === "Finished" ? [state.folder] : [],
    );
    return evaluationsOfPoint(point, folders);
  });

interface PageContents {
  readonly results: Results.Results;
  readonly done: FinishedRuns;
  /** Paired comparisons; a sweep of trainings has none. */
  readonly pairs: readonly Pair[];
  readonly written: number;
}

const dataOf = ({ file, name, text }: SweepPlan, { done, pairs, results, written }: PageContents): SweepData => {
  const points = results.rows.map(({ cells, point, seeds }) => ({
    name: point.name,
    runs: seeds.length,
    cells,
    // An evaluation has no curve.
    curves: joinCurves(file.command === "evaluate" ? [] : (done.get(point) ?? []).map(({ curves }) => curves)),
  }));
  const drawn = new Set(points.flatMap(({ curves }) => curves.series.map((series) => series.name)));
  const metrics = [...drawn].flatMap((metric) => {
    const entry = entryOf(metric);
    return entry === undefined
      ? []
      : [{ name: metric, section: "", unit: entry.unit, kind: entry.kind, meaning: entry.meaning }];
  });
  return {
    written,
    version,
    name,
    runs: results.runs,
    file: text,
    interval: file.interval,
    heads: results.heads.map(({ metric, of }) => ({ metric, of: Results.partText(of) })),
    metrics,
    points,
    ...(file.command === "evaluate" ? { pairs } : {}),
  };
};

/** Writes the table of what is finished, as text, CSV and JSON; `page` makes the page of it, too. Returns the lines of the table. */
const publish = Effect.fnUntraced(function* (
  plan: SweepPlan,
  standing: readonly SweepRunState[],
  read: (folder: string) => Results.Curves,
  page: boolean,
) {
  const done = finishedOf(plan, standing, read);
  const evaluated = yield* evaluationsOf(plan, standing);
  const pairs = pairsOf(evaluated);
  const results = Results.resultsOf(
    plan.file,
    [...done],
    evaluated.length === 0 ? undefined : intervalsOverInstances(evaluated),
  );
  const lines = [...table(Results.textRows(results)), ...pairLines(pairs)];
  const { epochMilliseconds } = yield* DateTime.now;
  const files = {
    "table.txt": `${lines.join("\n")}\n`,
    "table.csv": Results.csvOf(results),
    "table.json": Results.jsonOf(plan.name, results, evaluated.length === 0 ? {} : { pairs }),
    ...(page
      ? { "sweep.html": sweepDocumentOf(dataOf(plan, { results, done, pairs, written: epochMilliseconds })) }
      : {}),
  };
  for (const [name, text] of Object.entries(files)) yield* write(join(plan.folder, name), text);
  return lines;
});

const duration = (milliseconds: number): string => {
  const seconds = Math.round(milliseconds / 1000);
  return seconds < 100 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
};

/** The last thing a run printed. */
const lastLine = (log: string): string => {
  const text = Result.getOrElse(readText(log, 2 ** 26), () => "");
  return text.trimEnd().split("\n").at(-1) ?? "";
};

const exitText = (exited: ExitStatus): string => (typeof exited === "number" ? `exit code ${exited}` : exited);

/**
 * Words of the command line that start a run, or go on with the one in a folder. An evaluation goes on under a larger budget, too. The folder's
 * configuration was found equal to the sweep's own, so that it names no other code.
 */
const wordsOf = (
  { configName, file }: SweepPlan,
  { overrides }: PlannedRun,
  resume: string | null,
): readonly string[] => {
  if (resume === null) return [file.command, "--config-name", configName, ...overrides];
  return [file.command, "--resume", resume, "--trust", ...(file.command === "evaluate" ? overrides : [])];
};

/** Exit code of a run that Ctrl-C ended. */
const interrupted = 130;

/** Carries out one run, and tells where it stands then. */
const executeRun = Effect.fnUntraced(function* (
  plan: SweepPlan,
  standing: SweepRunState,
  place: string,
  runner: Runner,
) {
  const { config, folder, planned, state } = standing;
  const resume = state._tag === "Unfinished" ? state.folder : null;
  const words = wordsOf(plan, planned, resume);
  const log = join(folder, "output.log");
  const began = yield* monotonicMillis;
  yield* Console.log(`${place} ${planned.run.name}: ${resume === null ? "starts" : "goes on"}`);
  const exited = yield* runner({ run: planned.run, config, words, resume, log });
  const after: SweepRunState = { ...standing, state: yield* stateIn[plan.file.command](folder, config) };
  const took = duration((yield* monotonicMillis) - began);
  const ended =
    after.state._tag === "Finished"
      ? "finished"
      : exited === 0 || exited === interrupted
        ? "stopped"
        : `failed (${exitText(exited)}): ${lastLine(log)}`;
  yield* Console.log(`${place} ${planned.run.name}: ${ended} after ${took}`);
  const failed = after.state._tag !== "Finished" && exited !== 0 ? `${planned.run.name}: see ${log}` : null;
  return { after, failed };
});

const runAll = Effect.fnUntraced(function* (plan: SweepPlan, jobs: number, runner: Runner) {
  const { requested } = yield* Stop;
  const standing = [...(yield* runStates(plan))];
  const pending = [...standing.entries()].filter(([, { state }]) => state._tag !== "Finished");
  const publishing = yield* Semaphore.make(1);
  const read = curvesReader(plan);
  const failures: string[] = [];
  const stopped = Effect.raceFirst(Effect.as(requested, true), Effect.as(Effect.yieldNow, false));
  yield* Console.log(
    `${plan.name}: ${plan.points.length} points, ${standing.length} runs, ${standing.length - pending.length} of them finished; ${plan.folder}`,
  );
  yield* write(join(plan.folder, "sweep.yaml"), plan.text);
  yield* Effect.forEach(
    pending,
    ([at, before]) =>
      Effect.gen(function* () {
        if (yield* stopped) return;
        const { after, failed } = yield* executeRun(plan, before, `[${at + 1}/${standing.length}]`, runner);
        standing[at] = after;
        if (failed !== null && !(yield* stopped)) failures.push(failed);
        yield* publishing.withPermits(1)(publish(plan, standing, read, false));
      }),
    { concurrency: jobs, discard: true },
  );
  // Also where nothing was left to run: the columns of the file may be others.
  return { standing, failures, stopped: yield* stopped, lines: yield* publish(plan, standing, read, true) };
});

/** Runs the sweep. Fails with BadInput before anything runs, and with RunsFailed at the end where some run failed. */
export const sweep = Effect.fn("pipelines.sweep")(function* (options: SweepOptions, runner: Runner = runProcess) {
  const plan = yield* planOf(options.file, options.overrides);
  if (options.list) {
    const rows = plan.points.map(({ name, settings }) => [
      name,
      Object.entries(settings)
        .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
        .join(" "),
    ]);
    for (const line of table([["POINT", "SETS"], ...rows])) yield* Console.log(line);
    return yield* Console.log(`${plan.points.length} points, ${plan.runs.length} runs; ${plan.folder}`);
  }
  const { failures, lines, standing, stopped } = yield* runAll(plan, options.jobs, runner);
  for (const line of lines) yield* Console.log(line);
  yield* Console.log(join(plan.folder, "sweep.html"));
  const left = standing.filter(({ state }) => state._tag !== "Finished").length;
  if (stopped && left > 0)
    return yield* Console.log(`stopped with ${left} of ${standing.length} runs to do; the same command goes on`);
  // An evaluation whose budget is spent, or some episode of which could not be played, has not failed.
  if (failures.length === 0 && left > 0)
    return yield* Console.log(
      `${left} of ${standing.length} runs are not whole, and not in the table; see their output.log; the same command goes on`,
    );
  if (failures.length > 0) {
    const message = [
      `${failures.length} of ${standing.length} runs failed; the same command tries them again`,
      ...failures.slice(0, 10),
    ];
    return yield* new RunsFailed({ message: message.join("\n") });
  }
});
