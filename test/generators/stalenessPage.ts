/**
 * Prints the tables of docs/lab/staleness-policies.md from a record of `npm run bench -- staleness-policies`, and draws its picture:
 * `node test/generators/stalenessPage.ts bench/results/RECORD.json`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
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

const style = `
    text { font: 13px ui-sans-serif, system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328; text-anchor: middle }
    .left { text-anchor: start }
    .note { fill: #59636e; font-size: 12px }
    .axis { stroke: #8c959f; fill: none }
    .grid { stroke: #8c959f; stroke-opacity: 0.25 }
    .policy { color: #0969da; stroke: currentColor; stroke-width: 2; fill: none }
    .p1 { color: #59636e } .p2 { color: #cf222e } .p3 { color: #bc4c00 } .p4 { color: #8250df } .p5 { color: #1a7f37 }
    .whole { fill: currentColor }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc }
      .note { fill: #9198a1 }
      .policy { color: #4493f8 }
      .p1 { color: #9198a1 } .p2 { color: #f85149 } .p3 { color: #db6d28 } .p4 { color: #a371f7 } .p5 { color: #3fb950 }
    }
  `;

/** Side, top and size of a panel's axes, and the versions that it spans. */
const panel = { pitch: 290, left: 44, top: 74, width: 230, height: 200, versions: 6 };

const xOf = (index: number, versions: number): number =>
  Math.round(panel.left + index * panel.pitch + (panel.width * versions) / panel.versions);
const yOf = (throughput: number): number => Math.round(panel.top + panel.height * (1 - throughput));

/** The marker of a bound: full where long groups are trained as often as others. */
const markerOf = (x: number, y: number, bound: number, isWhole: boolean): string =>
  `<circle${isWhole ? ' class="whole"' : ""} cx="${x}" cy="${y}" r="${3 + bound / 2}" />`;

const axesOf = (kind: string, index: number): string => {
  const [x0, x1] = [xOf(index, 0), xOf(index, panel.versions)];
  const shares = [0.25, 0.5, 0.75, 1].map(
    (share) =>
      `<path class="grid" d="M${x0} ${yOf(share)}H${x1}" />` +
      (index === 0 ? `<text class="note" x="${x0 - 20}" y="${yOf(share) + 4}">${share}</text>` : ""),
  );
  const versions = [0, 1, 2, 3, 4, 5, 6].map(
    (version) => `<text class="note" x="${xOf(index, version)}" y="${yOf(0) + 18}">${version}</text>`,
  );
  return [
    `<path class="axis" d="M${x0} ${yOf(1)}V${yOf(0)}H${x1}" />`,
    ...shares,
    ...versions,
    `<text x="${(x0 + x1) / 2}" y="${panel.top - 12}">${kind}</text>`,
    `<text class="note" x="${(x0 + x1) / 2}" y="${yOf(0) + 36}">mean staleness, versions</text>`,
  ].join("\n  ");
};

/** Left ends of the policies' names in the legend, with room for the words of each. */
const legendPlaces = [24, 194, 354, 464, 636, 774];

const legendOf = (policy: PolicyName, index: number): string => {
  const x = legendPlaces[index] ?? 0;
  return `<g class="policy p${index}"><path d="M${x} 18h22" />${markerOf(x + 11, 18, 1, true)}</g>
  <text class="left" x="${x + 28}" y="22">${policy}</text>`;
};

const pictureOf = (figureAt: FigureAt): string => {
  const lines = lengths.flatMap((kind, panelIndex) =>
    policies.map((policy, index) => {
      const setting = `balanced, ${kind}`;
      const points = bounds.map((bound) => ({
        bound,
        x: xOf(panelIndex, figureAt(setting, bound, policy, "meanStaleness")),
        y: yOf(figureAt(setting, bound, policy, "throughput")),
        isWhole: figureAt(setting, bound, policy, "longestTenth") > 0.9,
      }));
      const path = points.map(({ x, y }, at) => `${at === 0 ? "M" : "L"}${x} ${y}`).join("");
      const markers = points.map(({ bound, isWhole, x, y }) => markerOf(x, y, bound, isWhole)).join("");
      return `<g class="policy p${index}"><path d="${path}" />${markers}</g>`;
    }),
  );
  const title =
    "Throughput over mean staleness of six policies under three distributions of lengths, for bounds of 1, 2 and 4 versions";
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 910 320" width="910" height="320" role="img" aria-labelledby="title">
  <title id="title">${title}</title>
  <style>${style}</style>
  ${policies.map(legendOf).join("\n  ")}
  <text class="note left" x="24" y="44">Throughput over the ideal. Larger circles: bounds of 1, 2 and 4. Hollow: the longest tenth is trained less often than others.</text>
  ${lengths.map(axesOf).join("\n  ")}
  ${lines.join("\n  ")}
</svg>
`;
};

const [, , file = ""] = process.argv;
const figureAt = readRecord(file);
writeFileSync(
  fileURLToPath(new URL("../../docs/pictures/staleness-policies.svg", import.meta.url)),
  pictureOf(figureAt),
);
console.log(tablesOf(figureAt).join("\n\n"));
