/** A sweep, made of the page's own parts: the table of its points, which choose what is drawn, and a chart for each metric. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Range } from "../curves/Chart.ts";
import { ChartCard, type DrawnRun, type Settings } from "../curves/ChartCard.ts";
import { clock, number } from "../format.ts";
import { runColour } from "../palette.ts";
import { csvOf } from "../report/csv.ts";
import { apply, type Theme } from "../theme.ts";
import type { SweepCell, SweepData, SweepPair, SweepPoint } from "./SweepData.ts";

/** More curves in one chart cannot be told apart. */
const mostDrawn = 8;

const cellText = (cell: SweepCell | null): string => {
  if (cell === null) return "";
  const { high, low, mean } = cell;
  return low === null || high === null ? number(mean) : `${number(mean)} [${number(low)}, ${number(high)}]`;
};

interface TableProps {
  readonly data: SweepData;
  readonly drawn: readonly string[];
  readonly onToggle: (name: string) => void;
}

const Table = ({ data: { heads, pairs, points, runs }, drawn, onToggle }: TableProps) =>
  html`<div class="rp-scroll"><table>
    <thead><tr><th></th><th scope="col">point</th><th class="num" scope="col">runs</th>${heads.map(
      ({ metric, of }) =>
        html`<th class="num" key=${`${metric} ${of}`} scope="col">${metric}<br /><span class="muted">${of}</span></th>`,
    )}</tr></thead>
    <tbody>${points.map(({ cells, name, runs: finished }) => {
      const place = drawn.indexOf(name);
      const colour = place < 0 || pairs !== undefined ? {} : { color: runColour(place) };
      return html`<tr key=${name}>
        <td>${pairs === undefined ? html`<input type="checkbox" aria-label="Draw ${name}" checked=${place >= 0} onChange=${() => onToggle(name)} />` : null}</td>
        <td><b style=${colour}>${name}</b></td><td class="num">${finished}/${runs}</td>
        ${cells.map((cell, at) => html`<td key=${at} class="num">${cellText(cell)}</td>`)}
      </tr>`;
    })}</tbody>
  </table></div>`;

const Pairs = ({ pairs }: { readonly pairs: readonly SweepPair[] }) =>
  html`<h2>Differences</h2>
  <p class="muted">Paired by instance, with 95 % intervals: each point less the first that played the same environments. P is McNemar's exact test.</p>
  <div class="rp-scroll"><table>
    <thead><tr><th scope="col">point</th><th scope="col">less</th>${["instances", "success", "P", "return"].map((head) => html`<th key=${head} class="num" scope="col">${head}</th>`)}</tr></thead>
    <tbody>${pairs.map(
      ({ against, instances, name, p, return: returned, success }) => html`<tr key=${`${name} ${against}`}>
        <td><b>${name}</b></td><td>${against}</td><td class="num">${instances}</td><td class="num">${cellText(success)}</td>
        <td class="num">${p === null ? "" : number(p)}</td><td class="num">${cellText(returned)}</td>
      </tr>`,
    )}</tbody>
  </table></div>`;

const settings: Settings = { axis: "step", smoothing: 0, log: false, band: true, marks: false };

const Charts = ({
  drawn,
  metrics,
  theme,
}: {
  readonly drawn: readonly SweepPoint[];
  readonly metrics: SweepData["metrics"];
  readonly theme: Theme;
}) => {
  const [zoom, setZoom] = useState<Range | null>(null);
  const names = [...new Set(drawn.flatMap(({ curves }) => curves.series.map(({ name }) => name)))];
  const about = new Map(metrics.map((metric) => [metric.name, metric]));
  return html`<div class="chartgrid">${names.map((name) => {
    const runs = drawn.map(
      (point, at): DrawnRun => ({
        id: point.name,
        label: point.name,
        colour: runColour(at),
        started: 0,
        curves: point.curves,
      }),
    );
    const csv = csvOf(
      name,
      drawn.map(({ curves, name: id }) => ({ card: { id }, curves })),
    );
    return html`<${ChartCard} key=${name} name=${name} card=${about.get(name) ?? null} runs=${runs} settings=${settings} zoom=${zoom} onZoom=${setZoom}
      marks=${[]} at=${null} viewed=${null} theme=${theme} csv=${csv} />`;
  })}</div>`;
};

const system = (): Theme => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

const trained = ({ interval }: SweepData): string =>
  `Means over runs with 95 % intervals (${interval}); charts show the mean, and the least and greatest run as a band. At most ${mostDrawn} points are drawn.`;

const evaluated = ({ interval }: SweepData): string =>
  `Success and return are over the instances of all seeds, with 95 % intervals: Wilson's of success where each instance was played once, else a bootstrap over instances. Other columns are means over seeds (${interval}).`;

export const Sweep = ({ data }: { readonly data: SweepData }): VNode => {
  const [theme, setTheme] = useState(system);
  const measured = data.points.filter(({ runs }) => runs > 0);
  const [names, setNames] = useState<readonly string[]>(measured.slice(0, mostDrawn).map(({ name }) => name));
  const toggle = (name: string): void =>
    setNames(names.includes(name) ? names.filter((other) => other !== name) : [...names, name].slice(-mostDrawn));
  const drawn = names.flatMap((name) => measured.find((point) => point.name === name) ?? []);
  const other: Theme = theme === "dark" ? "light" : "dark";
  apply(theme);
  return html`<main class="rp">
    <header class="rp-head">
      <h1>millrace sweep: ${data.name}</h1>
      <span class="muted">written ${clock(data.written)} by millrace ${data.version}</span>
      <span class="spacer"></span>
      <button type="button" onClick=${() => setTheme(other)}>${other}</button>
    </header>
    <p class="muted">${data.pairs === undefined ? trained(data) : evaluated(data)}</p>
    <${Table} data=${data} drawn=${names} onToggle=${toggle} />
    ${
      data.pairs === undefined
        ? html`<h2>Curves</h2><${Charts} drawn=${drawn} metrics=${data.metrics} theme=${theme} />`
        : html`<${Pairs} pairs=${data.pairs} />`
    }
    <details><summary>Sweep file</summary><pre>${data.file}</pre></details>
  </main>`;
};
