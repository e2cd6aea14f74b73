/**
 * The points of a sweep: each sets keys of the run file, under a name that says so and can be a folder's. Pure. Invariants: names differ;
 * no key is set twice in a point; a run is a point under one seed.
 */
import { createHash } from "node:crypto";
import { Result } from "effect";
import { ourKey } from "../../config/ragen/aliases.ts";
import { showText, showValue } from "../../config/show.ts";
import { BadInput } from "../../domain/Errors.ts";
import type { Axis, Settings, SweepFile } from "./SweepFile.ts";

export interface Point {
  readonly name: string;
  /** Keys as they are written in the file. */
  readonly settings: Settings;
}

export interface SweepRun {
  /** The name of the run's folder. */
  readonly name: string;
  readonly point: Point;
  readonly seed: number;
}

/** Runs of one sweep at most. */
const mostRuns = 10_000;
/** Bytes of a name; the seed and a folder's limit come on top. */
const longestName = 120;

/** Keys that the sweep itself sets, or that say where it keeps its runs. */
const ownKeys = ["run.name", "run.dir"];

/** The last words of each key, as many as tell the keys apart. */
const shortKeys = (keys: readonly string[]): ReadonlyMap<string, string> => {
  const last = (key: string, words: number) => key.split(".").slice(-words).join(".");
  return new Map(
    keys.map((key) => {
      let words = 1;
      while (keys.some((other) => other !== key && last(other, words) === last(key, words)) && words < 32) words++;
      return [key, last(key, words)];
    }),
  );
};

/** Replaces whatever may not stand in a folder's name. */
const plain = (text: string): string => text.replace(/[^\p{L}\p{N}._+-]+/gu, "-").replace(/^-|-$/g, "");

const valueText = (value: unknown): string => {
  if (typeof value === "number") return String(value);
  return plain(typeof value === "string" ? value : JSON.stringify(value));
};

/** A name that is too long is cut, and told apart by a hash. */
const bounded = (name: string): string => {
  if (new TextEncoder().encode(name).length <= longestName) return name;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, 8);
  return `${[...name].slice(0, longestName / 4).join("")}-${hash}`;
};

interface Choice {
  readonly label: string;
  readonly settings: Settings;
}

const choicesOf = (key: string, short: string, axis: Axis): readonly Choice[] =>
  Array.isArray(axis)
    ? axis.map((value: unknown) => ({ label: `${short}=${valueText(value)}`, settings: { [key]: value } }))
    : Object.entries(axis as Readonly<Record<string, Settings>>).map(([label, settings]) => ({ label, settings }));

/** Every combination of one choice of each axis, the last axis changing fastest. */
const combinations = (axes: readonly (readonly Choice[])[]): readonly (readonly Choice[])[] =>
  axes.reduce<readonly (readonly Choice[])[]>(
    (chosen, axis) => chosen.flatMap((before) => axis.map((choice) => [...before, choice])),
    [[]],
  );

const gridPoints = ({ grid }: SweepFile): readonly (Point & { readonly twice: readonly string[] })[] => {
  const axes = Object.entries(grid);
  if (axes.length === 0) return [];
  const short = shortKeys(axes.flatMap(([key, axis]) => (Array.isArray(axis) ? [key] : [])));
  return combinations(axes.map(([key, axis]) => choicesOf(key, short.get(key) ?? key, axis))).map((choices) => {
    const keys = choices.flatMap(({ settings }) => Object.keys(settings).map(ourKey));
    return {
      name: bounded(choices.map(({ label }) => label).join(",")),
      settings: Object.assign({}, ...choices.map(({ settings }) => settings)),
      twice: keys.filter((key, at) => keys.indexOf(key) !== at),
    };
  });
};

/** Two points that set the same have equal content. */
const contentOf = ({ settings }: Point): string =>
  JSON.stringify(
    Object.entries(settings)
      .map(([key, value]) => [ourKey(key), value])
      .sort(),
  );

/** Pairs a point with an earlier one that has the same `keyOf`. */
const repeated = (points: readonly Point[], keyOf: (point: Point) => string): readonly (readonly [Point, Point])[] => {
  const first = new Map<string, Point>();
  return points.flatMap((point) => {
    const earlier = first.get(keyOf(point));
    if (earlier === undefined) first.set(keyOf(point), point);
    return earlier === undefined ? [] : [[earlier, point] as const];
  });
};

/** Lists the faults of all points together, a line each. */
const problemsOf = (file: SweepFile, points: readonly Point[]): readonly string[] => {
  const settable = [
    ...points.map(({ name, settings }) => [`point ${showValue(name)}`, settings] as const),
    ["overrides", file.overrides] as const,
  ];
  const reserved = settable.flatMap(([where, settings]) =>
    Object.keys(settings)
      .map(ourKey)
      .filter((key) =>
        where === "overrides" ? key === "run.name" : ownKeys.includes(key) || file.seed_keys.map(ourKey).includes(key),
      )
      .map((key) => `${where}: ${showText(key)}: the sweep sets this key itself`),
  );
  const named = repeated(points, ({ name }) => name).map(([{ name }]) => `two points are named ${showValue(name)}`);
  const equal = repeated(points, contentOf).map(
    ([one, other]) => `${showValue(one.name)} and ${showValue(other.name)} are the same point`,
  );
  return [...new Set([...reserved, ...named, ...equal])];
};

/** The points of a sweep file, those of the grid first. */
export const pointsOf = (file: SweepFile, origin: string): Result.Result<readonly Point[], BadInput> => {
  const bad = (lines: readonly string[]) =>
    Result.fail(
      new BadInput({
        message: lines
          .slice(0, 10)
          .map((line) => `${origin}: ${line}`)
          .join("\n"),
      }),
    );
  const [empty] = Object.entries(file.grid).filter(([, axis]) => Object.keys(axis).length === 0);
  if (empty !== undefined) return bad([`grid: ${showText(empty[0])} has no setting`]);
  const sizes = Object.values(file.grid).map((axis) => (Array.isArray(axis) ? axis.length : Object.keys(axis).length));
  const inGrid = sizes.length === 0 ? 0 : sizes.reduce((all, size) => all * size, 1);
  const count = (inGrid + Object.keys(file.points).length) * file.seeds.length;
  if (count > mostRuns) return bad([`${count} runs; at most ${mostRuns} are taken`]);
  if (count === 0) return bad(["no point: grid and points are empty; a sweep of one point has points: {name: {}}"]);
  const grid = gridPoints(file);
  const twice = grid.flatMap(({ twice }) => twice);
  if (twice.length > 0) return bad([...new Set(twice)].map((key) => `grid: ${showText(key)} is set by two axes`));
  const points: readonly Point[] = [
    ...grid.map(({ name, settings }) => ({ name, settings })),
    ...Object.entries(file.points).map(([name, settings]) => ({ name, settings })),
  ];
  const problems = problemsOf(file, points);
  return problems.length > 0 ? bad(problems) : Result.succeed(points);
};

/** The runs of the points, all seeds of a point together. */
export const runsOf = ({ seeds }: SweepFile, points: readonly Point[]): readonly SweepRun[] =>
  points.flatMap((point) => seeds.map((seed) => ({ name: `${point.name},seed=${seed}`, point, seed })));

/** An override of the command line; JSON is YAML. */
const override = (key: string, value: unknown): string => `${key}=${JSON.stringify(value)}`;

/** The overrides that make a run of the sweep's run file, but for where it is kept; `more` come from the command line, and win over the file's. */
export const settingsOf = (file: SweepFile, { point, seed }: SweepRun, more: readonly string[]): readonly string[] => [
  ...Object.entries(file.overrides).map(([key, value]) => override(key, value)),
  ...more,
  ...Object.entries(point.settings).map(([key, value]) => override(key, value)),
  ...file.seed_keys.map((key) => override(key, seed)),
];

/** The same, with the run kept below `folder` under its name. */
export const overridesOf = (
  file: SweepFile,
  run: SweepRun,
  folder: string,
  more: readonly string[],
): readonly string[] => [...settingsOf(file, run, more), override("run.dir", folder), override("run.name", run.name)];
