/**
 * Prints the tables of docs/lab/staleness-policies.md from a record of `npm run bench -- staleness-policies`, and draws its picture:
 * `node test/generators/stalenessPage.ts bench/results/RECORD.json`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  axesOf,
  legendOf,
  lineThrough,
  type Panel,
  type Place,
  placeIn,
  seriesOf,
  svgOf,
  textAt,
} from "../../bench/drawing.ts";
import type { Report } from "../../bench/Report.ts";
import { bounds, type Measure, nameOf, variants, wideBounds } from "../../bench/staleness-policies.ts";
import { balances, lengths, type PolicyName, policies } from "../../bench/stalenessModel.ts";

type FigureAt = (setting: string, bound: number, policy: PolicyName, measure: Measure) => number;

const readRecord = (file: string): FigureAt => {
  const { rows } = JSON.parse(readFileSync(file, "utf8")) as Report;
  const figures = rows.find(({ bench }) => bench === "staleness-policies")?.figures ?? [];
  const values = new Map(figures.map(({ name, value }) => [name, value]));
  return (...figure) => {
    const name = nameOf(...figure);
    const value = values.get(name);
    if (value === undefined) throw new Error(`${file} has no figure "${name}"`);
    return value;
  };
};

const tableRow = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;

const tableOf = (heads: readonly string[], rows: readonly (readonly string[])[]): string =>
  [tableRow(heads), `|${heads.map(() => "---|").join("")}`, ...rows.map(tableRow)].join("\n");

const cellOf = (figureAt: FigureAt, setting: string, bound: number, policy: PolicyName): string => {
  const value = (measure: Measure): number => figureAt(setting, bound, policy, measure);
  const staleness = `${value("meanStaleness").toFixed(1)} (${value("worstStaleness")})`;
  const waste = `${(100 * value("waste")).toFixed(0)} %`;
  return [value("throughput").toFixed(2), staleness, waste, value("longestTenth").toFixed(2)].join(", ");
};

const tablesOf = (figureAt: FigureAt): readonly string[] => {
  const table = (settings: readonly (readonly [title: string, setting: string])[], columns: readonly number[]) =>
    tableOf(
      ["lengths", "policy", ...columns.map((bound) => `bound ${bound}`)],
      settings.flatMap(([title, setting]) =>
        policies.map((policy, index) => [
          index === 0 ? title : "",
          policy,
          ...columns.map((bound) => cellOf(figureAt, setting, bound, policy)),
        ]),
      ),
    );
  const changed = tableOf(
    ["change", ...policies],
    Object.keys(variants).map((setting) => [
      setting,
      ...policies.map((policy) => cellOf(figureAt, setting, 2, policy)),
    ]),
  );
  const wide = ["lognormal(1)", "Pareto(1.5)"].map((kind) => [kind, `balanced, ${kind}`] as const);
  return [
    ...Object.keys(balances).map((balance) => {
      const settings = lengths.map((kind) => [kind, `${balance}, ${kind}`] as const);
      return `${balance}\n\n${table(settings, bounds)}`;
    }),
    `wide bounds, balanced\n\n${table(wide, wideBounds)}`,
    `changes, bound 2\n\n${changed}`,
  ];
};

/** The marker of a bound: full where long groups are trained as often as others. */
const circleAt = ({ x, y }: Place, bound: number, isWhole: boolean): string =>
  `<circle${isWhole ? ' class="whole"' : ""} cx="${x}" cy="${y}" r="${3 + bound / 2}" />`;

const versions = [0, 1, 2, 3, 4, 5, 6].map((value) => ({ value, label: String(value) }));
const shares = [0.25, 0.5, 0.75, 1].map((value) => ({ value, label: String(value) }));

const panelOf = (kind: string, index: number, top: number): Panel => ({
  left: 58 + 285 * index,
  top,
  width: 230,
  height: 200,
  title: kind,
  x: { title: "mean staleness, versions", low: 0, high: 6, ticks: versions },
  y: { title: "throughput over the ideal", low: 0, high: 1, ticks: shares },
  sharesY: index > 0,
});

const lineOf = (figureAt: FigureAt, panel: Panel, policy: PolicyName): readonly string[] => {
  const setting = `balanced, ${panel.title}`;
  const points = bounds.map((bound) => ({
    bound,
    place: placeIn(panel, {
      x: figureAt(setting, bound, policy, "meanStaleness"),
      y: figureAt(setting, bound, policy, "throughput"),
    }),
    isWhole: figureAt(setting, bound, policy, "longestTenth") > 0.9,
  }));
  return [
    `<path d="${lineThrough(points.map(({ place }) => place))}" />`,
    ...points.map(({ bound, isWhole, place }) => circleAt(place, bound, isWhole)),
  ];
};

const pictureOf = (figureAt: FigureAt): string => {
  const width = 910;
  const legend = legendOf(
    policies.map((label, series) => ({ series, label })),
    width,
    (_, place) => circleAt(place, 1, true),
  );
  const top = legend.bottom + 56;
  const panels = lengths.map((kind, index) => panelOf(kind, index, top));
  const note = "Larger circles: bounds of 1, 2 and 4. Hollow: the longest tenth is trained less often than others.";
  return svgOf({
    width,
    height: top + 246,
    title:
      "Throughput over mean staleness of six policies under three distributions of lengths, for bounds of 1, 2 and 4 versions",
    parts: [
      legend.drawn,
      textAt({ x: 24, y: legend.bottom + 26 }, note, "note left"),
      ...panels.map(axesOf),
      ...panels.flatMap((panel) => policies.map((policy, index) => seriesOf(index, lineOf(figureAt, panel, policy)))),
    ],
  });
};

const [, , file = ""] = process.argv;
const figureAt = readRecord(file);
writeFileSync(
  fileURLToPath(new URL("../../docs/pictures/staleness-policies.svg", import.meta.url)),
  pictureOf(figureAt),
);
console.log(tablesOf(figureAt).join("\n\n"));
