/**
 * Resolves a sweep file before anything runs: its points, the configuration of each run, and their folder. It reports
 * every problem of every point.
 */
import { existsSync } from "node:fs";
import { resolve as absolute, basename, dirname, join } from "node:path";
import { Console, Effect, Result } from "effect";
import { locate, showPath } from "../src/config/compose.ts";
import { parseOverride } from "../src/config/overrides.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { ourKey } from "../src/config/ragen/aliases.ts";
import { readText } from "../src/config/readText.ts";
import { remarks, resolve } from "../src/config/resolve.ts";
import { listProblems, showValue } from "../src/config/show.ts";
import { limits, readYaml } from "../src/config/yamlText.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { overridesOf, type Point, pointsOf, runsOf, type SweepRun, settingsOf } from "../src/tools/sweep/Point.ts";
import { read, type SweepFile } from "../src/tools/sweep/SweepFile.ts";
import { withModelFolders } from "./configFolders.ts";
import { namedModel } from "./namedRun.ts";
import { configDir } from "./paths.ts";
import { prepareConfig } from "./prepareRun.ts";

export interface PlannedRun {
  readonly run: SweepRun;
  readonly overrides: readonly string[];
}

export interface SweepPlan {
  readonly name: string;
  /** The text of the sweep file. */
  readonly text: string;
  readonly file: SweepFile;
  readonly points: readonly Point[];
  readonly runs: readonly PlannedRun[];
  /** The sweep's folder. */
  readonly folder: string;
  /** The run file, as `--config-name` takes it. */
  readonly configName: string;
}

const bad = (message: string) => new BadInput({ message });

/** The sweep file's path, text and content. */
const fileOf = Effect.fnUntraced(function* (name: string) {
  const sweeps = join(configDir, "sweeps");
  const path = yield* Effect.mapError(locate(name, sweeps), ({ message }) =>
    bad(message.replace("no run file", "no sweep file")),
  );
  const text = yield* Effect.mapError(Effect.fromResult(readText(path, limits.characters)), (problem) =>
    bad(`${showPath(path)}: ${problem}`),
  );
  const tree = yield* Effect.mapError(Effect.fromResult(readYaml(text)), ({ problem }) =>
    bad(`${showPath(path)}: not valid YAML: ${problem}`),
  );
  const file = yield* Effect.fromResult(read(tree, showPath(path)));
  return { path, text, file };
});

/** A run file by a path is relative to the sweep file that names it. */
const configNameOf = (config: string, path: string): string => {
  const beside = absolute(dirname(path), config);
  return /[/\\]|\.ya?ml$/.test(config) && existsSync(beside) ? beside : config;
};

/** Overrides of the command line that some point, or the sweep itself, sets: they would be without effect. */
const overruled = (
  points: readonly Point[],
  { seed_keys }: SweepFile,
  overrides: readonly string[],
): readonly string[] => {
  const set = new Set([
    ...points.flatMap(({ settings }) => Object.keys(settings)).map(ourKey),
    ...seed_keys.map(ourKey),
    "run.name",
  ]);
  return overrides.flatMap((text) => {
    const parsed = parseOverride(text);
    const key = Result.isSuccess(parsed) ? ourKey(parsed.success.path.join(".")) : "";
    return set.has(key) ? [`override ${showValue(text)}: the sweep sets this key itself`] : [];
  });
};

type Command = SweepFile["command"];

/** With absolute paths of what it loads. */
const withFolders = Effect.fnUntraced(function* (command: Command, config: RunConfig) {
  if (command === "evaluate") return yield* withModelFolders(config);
  const path = yield* namedModel("model.path", config.model.path);
  const found: RunConfig = { ...config, model: { ...config.model, path } };
  return found;
});

/** The configuration of one run as its process resolves it. */
export const configOf = Effect.fnUntraced(function* (
  command: Command,
  configName: string,
  overrides: readonly string[],
) {
  const resolved = yield* resolve(configName, overrides, configDir);
  return { config: yield* withFolders(command, resolved.config), remarks: remarks(resolved) };
});

/** A list of models is a sweep of its own. */
const checkModels = ({ evaluation }: RunConfig): Effect.Effect<void, BadInput> =>
  evaluation.models.length === 0
    ? Effect.void
    : Effect.fail(bad("evaluation.models: the points of a sweep are the models; make them an axis or points"));

/** Resolves and checks one run as its command does; returns what there is to say of it. */
const checkRun = Effect.fnUntraced(function* (command: Command, configName: string, overrides: readonly string[]) {
  const { config, remarks: said } = yield* configOf(command, configName, overrides);
  if (command === "evaluate") yield* checkModels(config);
  yield* prepareConfig(command, config);
  return said;
});

/** Checks one run of each point; warnings that the points share are printed once. */
const checked = Effect.fnUntraced(function* (command: Command, configName: string, runs: readonly PlannedRun[]) {
  const problems = new Map<string, string[]>();
  const warnings = new Set<string>();
  const seen = new Set<Point>();
  for (const { overrides, run } of runs) {
    if (seen.has(run.point)) continue;
    seen.add(run.point);
    const result = yield* Effect.result(checkRun(command, configName, overrides));
    if (Result.isSuccess(result)) {
      if (result.success !== null) warnings.add(result.success);
    } else problems.set(result.failure.message, [...(problems.get(result.failure.message) ?? []), run.point.name]);
  }
  for (const line of warnings) yield* Console.error(`warning: ${line}`);
  if (problems.size === 0) return;
  const all = new Set(runs.map(({ run }) => run.point)).size;
  const lines = Array.from(problems, ([message, points]) => {
    const where =
      points.length === all ? "every point" : points.slice(0, 5).join("; ") + (points.length > 5 ? "; …" : "");
    return `${where}: ${message}`;
  });
  return yield* bad(listProblems(lines));
});

/** `run.dir` of a run. One that cannot be resolved has problems of its own, which are named with all others. */
const dirOf = (configName: string, overrides: readonly string[]): Effect.Effect<string> =>
  Effect.match(resolve(configName, overrides, configDir), {
    onSuccess: ({ config }) => config.run.dir,
    onFailure: () => "runs",
  });

/** The plan of a sweep file under overrides of the command line. */
export const planOf = Effect.fnUntraced(function* (name: string, overrides: readonly string[]) {
  const { file, path, text } = yield* fileOf(name);
  const points = yield* Effect.fromResult(pointsOf(file, showPath(path)));
  const problems = overruled(points, file, overrides);
  if (problems.length > 0) return yield* bad(listProblems(problems));
  const configName = configNameOf(file.config, path);
  const sweep = file.name ?? basename(path).replace(/\.ya?ml$/, "");
  const all = runsOf(file, points);
  const folder = absolute(yield* dirOf(configName, settingsOf(file, all[0]!, overrides)), sweep);
  const runs = all.map((run) => ({ run, overrides: overridesOf(file, run, folder, overrides) }));
  yield* checked(file.command, configName, runs);
  const plan: SweepPlan = { name: sweep, text, file, points, runs, folder, configName };
  return plan;
});
