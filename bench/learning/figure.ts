/**
 * `node bench/learning/figure.ts SWEEP`: draws the records of a learning sweep as `docs/pictures/sweep-SWEEP.svg`. Runs without a record are
 * left out; equal records give equal bytes.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Effect, Result } from "effect";
import { planOf, type SweepPlan } from "../../pipelines/sweepPlan.ts";
import { BadInput } from "../../src/domain/Errors.ts";
import { mean } from "../../src/domain/Statistics.ts";
import type { Point } from "../../src/tools/sweep/Point.ts";
import type { Curves, Finished } from "../../src/tools/sweep/Results.ts";
import { type SummaryName, summaryOf } from "../../src/tools/sweep/summary.ts";
import {
  type Axis,
  axesOf,
  axisAround,
  type LegendItem,
  legendOf,
  lineThrough,
  markerOf,
  type Panel,
  type Place,
  placeIn,
  seriesOf,
  svgOf,
  textAt,
} from "../drawing.ts";
import { readArguments } from "../readArguments.ts";
import { recordsFolder } from "./record.ts";
import { finishedRuns, recordedRuns } from "./sweepRecords.ts";

const success = "val-env/success";
const admitted = "ledger/tokens/admitted";

/** A metric's summary at every value of a key: a panel for each metric, and a line for each value of a second key. */
interface SummaryFigure {
  readonly title: string;
  readonly x: { readonly key: string; readonly title: string };
  readonly lineKey: string;
  readonly panels: readonly {
    readonly metric: string;
    readonly of: SummaryName;
    readonly title: string;
    /** Units of the axis in one unit of the metric. */
    readonly scale: number;
  }[];
}

/** Success over tokens: a panel for each prefix of the points' names, in which the rest of the name is the line's. */
interface CurveFigure {
  readonly title: string;
  readonly panels: readonly { readonly prefix: string; readonly title: string }[];
}

/** The figure of each sweep that has one. */
const summaryFigures: Readonly<Record<string, SummaryFigure>> = {
  staleness: {
    title: "Last validation success and least effective sample size over the bound on staleness, by correction",
    x: { key: "pipeline.max_staleness", title: "bound on staleness (eta), windows" },
    lineKey: "algorithm.correction",
    panels: [
      { metric: success, of: "last", title: "last validation success, %", scale: 100 },
      { metric: "mismatch/ess", of: "least", title: "least effective sample size, share", scale: 1 },
    ],
  },
};
const curveFigures: Readonly<Record<string, CurveFigure>> = {
  sampler: {
    title: "Validation success over the tokens admitted, by the task sampler",
    panels: [{ prefix: "", title: "" }],
  },
  sampler_sokoban: {
    title: "Validation success over the tokens admitted, by the task sampler, on Sokoban's levels",
    panels: [{ prefix: "", title: "" }],
  },
  snr: {
    title: "Validation success over the tokens admitted, by the choice of groups, without slip and at a slip of 20 %",
    panels: [
      { prefix: "slip=0,", title: "slip 0" },
      { prefix: "slip=20,", title: "slip 20 %" },
    ],
  },
};

type PointRuns = readonly (readonly [Point, readonly Finished[]])[];

const size = { width: 760, panelHeight: 230, left: 62, right: 20, gap: 40, gapWithAxis: 84 };

/** Panels side by side below `top`. */
const panelsOf = (
  top: number,
  axes: readonly { readonly title: string; readonly x: Axis; readonly y: Axis }[],
  sharesY: boolean,
): readonly Panel[] => {
  const gap = sharesY ? size.gap : size.gapWithAxis;
  const width = (size.width - size.left - size.right - gap * (axes.length - 1)) / axes.length;
  return axes.map((axis, index) => ({
    ...axis,
    left: size.left + index * (width + gap),
    top,
    width,
    height: size.panelHeight,
    sharesY: sharesY && index > 0,
  }));
};

/** The note on what the lines are, and what `seedShape` is where a line is of several runs. */
const noteOf = (points: PointRuns, seedShape: string): string => {
  const counts = points.map(([, { length }]) => length).filter((count) => count > 0);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  if (most === 1) return "One run a point, so far.";
  const runs = least === most ? String(most) : `${least} to ${most}`;
  return `Each line is the mean over seeds (${runs} runs a point); each ${seedShape} is one seed.`;
};

interface DrawnPanel {
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  /** Draws all lines, once the panel has its place. */
  readonly drawLines: (panel: Panel) => readonly string[];
}

const figureOf = (
  title: string,
  note: string,
  items: readonly LegendItem[],
  drawn: readonly DrawnPanel[],
  sharesY: boolean,
): string => {
  const legend = legendOf(items, size.width);
  const hasTitles = drawn.some((panel) => panel.title !== "");
  const top = legend.bottom + (hasTitles ? 62 : 46);
  const panels = panelsOf(top, drawn, sharesY);
  return svgOf({
    width: size.width,
    height: top + size.panelHeight + 48,
    title,
    parts: [
      legend.drawn,
      textAt({ x: 24, y: legend.bottom + 28 }, note, "note left"),
      ...panels.map(axesOf),
      ...panels.flatMap((panel, index) => drawn[index]!.drawLines(panel)),
    ],
  });
};

/** The legend of the lines that have a run; a line keeps its colour whether or not others have. */
const legendItems = (labels: readonly string[], hasRuns: (label: string) => boolean): readonly LegendItem[] =>
  labels.map((label, series) => ({ series, label })).filter(({ label }) => hasRuns(label));

/** Pixels between two lines at the same value of an ordinal axis, so that their dots do not hide each other. */
const dodge = 7;

/** The values of a line's runs at a place of the ordinal axis. */
interface Cell {
  readonly at: number;
  readonly line: string;
  readonly values: readonly number[];
}

/** A line through the means of its cells, with a dot for each value. */
const summaryLine = (panel: Panel, series: number, shift: number, cells: readonly Cell[]): string => {
  const placeOf = (at: number, value: number): Place => {
    const { x, y } = placeIn(panel, { x: at, y: value });
    return { x: Number((x + shift).toFixed(1)), y };
  };
  const means = cells.map(({ at, values }) => placeOf(at, mean(values)));
  const dots = cells.flatMap(({ at, values }) => values.map((value) => placeOf(at, value)));
  return seriesOf(series, [
    ...dots.map(({ x, y }) => `<circle class="faint" cx="${x}" cy="${y}" r="2.5" />`),
    `<path class="line" d="${lineThrough(means)}" />`,
    ...means.map((place) => markerOf(series, place)),
  ]);
};

const summaryFigureOf = ({ lineKey, panels, title, x }: SummaryFigure, points: PointRuns): string => {
  const labelOf = ({ settings }: Point, key: string): string => String(settings[key]);
  const xLabels = [...new Set(points.map(([point]) => labelOf(point, x.key)))];
  const lines = [...new Set(points.map(([point]) => labelOf(point, lineKey)))];
  const trained = points.filter(([, runs]) => runs.length > 0);
  const items = legendItems(lines, (line) => trained.some(([point]) => labelOf(point, lineKey) === line));
  const xAxis: Axis = {
    title: x.title,
    low: -0.4,
    high: xLabels.length - 0.6,
    ticks: xLabels.map((label, value) => ({ value, label })),
  };
  const drawn = panels.map(({ metric, of, scale, title: yTitle }): DrawnPanel => {
    const cells = trained
      .map(
        ([point, runs]): Cell => ({
          at: xLabels.indexOf(labelOf(point, x.key)),
          line: labelOf(point, lineKey),
          values: runs
            .flatMap(({ curves }) => summaryOf(of, curves.get(metric) ?? []) ?? [])
            .map((value) => value * scale),
        }),
      )
      .filter(({ values }) => values.length > 0);
    const all = cells.flatMap(({ values }) => values);
    return {
      title: "",
      x: xAxis,
      y: axisAround(yTitle, all),
      drawLines: (panel) =>
        items.map(({ label, series }) => {
          const shift = (series - (lines.length - 1) / 2) * dodge;
          const ofLine = cells.filter(({ line }) => line === label);
          return summaryLine(panel, series, shift, ofLine);
        }),
    };
  });
  return figureOf(title, noteOf(points, "small dot"), items, drawn, false);
};

interface CurvePoint {
  readonly step: number;
  /** Millions of tokens. */
  readonly x: number;
  /** Per cent. */
  readonly y: number;
}

/** Validation success with the tokens admitted until then: none before the first update. */
const curveOf = (curves: Curves): readonly CurvePoint[] => {
  const tokens = curves.get(admitted) ?? [];
  return (curves.get(success) ?? []).map(({ step, value }) => ({
    step,
    x: (tokens.findLast((total) => total.step <= step)?.value ?? 0) / 1e6,
    y: 100 * value,
  }));
};

/** The mean over seeds at the steps at which all of them were validated. */
const meanCurve = (curves: readonly (readonly CurvePoint[])[]): readonly CurvePoint[] => {
  const [first = [], ...others] = curves;
  return first.flatMap((point) => {
    const equal = [point, ...others.flatMap((curve) => curve.find(({ step }) => step === point.step) ?? [])];
    if (equal.length < curves.length) return [];
    return [{ step: point.step, x: mean(equal.map(({ x }) => x)), y: mean(equal.map(({ y }) => y)) }];
  });
};

/** The mean of a line's runs, with a thin line for each where there are several. */
const curveLine = (panel: Panel, series: number, runs: readonly (readonly CurvePoint[])[]): string => {
  const placesOf = (curve: readonly CurvePoint[]) => curve.map((point) => placeIn(panel, point));
  const means = placesOf(meanCurve(runs));
  return seriesOf(series, [
    ...(runs.length > 1 ? runs : []).map((run) => `<path class="thin" d="${lineThrough(placesOf(run))}" />`),
    `<path class="line" d="${lineThrough(means)}" />`,
    ...means.map((place) => markerOf(series, place)),
  ]);
};

const curveFigureOf = ({ panels, title }: CurveFigure, points: PointRuns): string => {
  const lineOf = ({ name }: Point, prefix: string): string => name.slice(prefix.length).replaceAll(",", ", ");
  const within = panels.map(({ prefix }) => points.filter(([{ name }]) => name.startsWith(prefix)));
  const lines = [
    ...new Set(panels.flatMap(({ prefix }, index) => within[index]!.map(([point]) => lineOf(point, prefix)))),
  ];
  const curves = panels.map(({ prefix }, index) =>
    within[index]!.filter(([, runs]) => runs.length > 0).map(([point, runs]) => ({
      series: lines.indexOf(lineOf(point, prefix)),
      runs: runs.map((run) => curveOf(run.curves)),
    })),
  );
  const all = curves.flat().flatMap(({ runs }) => runs.flat());
  const x = axisAround("tokens admitted, millions", [0, ...all.map((point) => point.x)]);
  const heights = all.map((point) => point.y);
  const y = axisAround("validation success, %", heights);
  const drawn = panels.map(
    (panel, index): DrawnPanel => ({
      title: panel.title,
      x,
      y,
      drawLines: (place) => curves[index]!.map(({ runs, series }) => curveLine(place, series, runs)),
    }),
  );
  const items = legendItems(lines, (line) => curves.flat().some(({ series }) => lines[series] === line));
  return figureOf(title, noteOf(points, "thin line"), items, drawn, true);
};

const bad = (message: string) => Result.fail(new BadInput({ message }));

/** The function that draws a sweep's figure, or the sentence that it has none. */
const drawerOf = (name: string): Result.Result<(points: PointRuns) => string, BadInput> => {
  const [summary, curve] = [summaryFigures[name], curveFigures[name]];
  if (summary !== undefined) return Result.succeed((points) => summaryFigureOf(summary, points));
  if (curve !== undefined) return Result.succeed((points) => curveFigureOf(curve, points));
  const names = [...Object.keys(summaryFigures), ...Object.keys(curveFigures)];
  return bad(`no figure is described for ${JSON.stringify(name)}; there is one for ${names.join(", ")}`);
};

/** The SVG of a sweep from the records in a folder. */
export const sweepFigure = (
  plan: Pick<SweepPlan, "name" | "file" | "points" | "runs">,
  folder: string,
): Result.Result<string, BadInput> =>
  Result.flatMap(drawerOf(plan.name), (draw) =>
    Result.flatMap(recordedRuns(plan, folder), (runs) =>
      runs.every(({ record }) => record === null)
        ? bad(`${folder} has no record; node bench/learning/sweep.ts ${plan.name} trains the runs`)
        : Result.succeed(draw(finishedRuns(plan.points, runs))),
    ),
  );

/** Draws the sweep into the docs, and gives the path of the picture. */
const drawn = Effect.fnUntraced(function* (name: string) {
  yield* Effect.fromResult(drawerOf(name));
  const plan = yield* planOf(name, []);
  const svg = yield* Effect.fromResult(sweepFigure(plan, join(recordsFolder, plan.name)));
  const path = join(import.meta.dirname, "..", "..", "docs", "pictures", `sweep-${plan.name}.svg`);
  writeFileSync(path, svg);
  return path;
});

if (import.meta.main) {
  const [name = ""] = readArguments({ allowPositionals: true }).positionals;
  const result = await Effect.runPromise(Effect.result(drawn(name)));
  if (Result.isSuccess(result)) console.log(result.success);
  else {
    console.error(result.failure.message);
    process.exitCode = 2;
  }
}
