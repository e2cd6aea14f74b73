/** A report of runs, made of the page's own parts: facts, curves, what the filter did, the line at its end, and episodes. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Range } from "../curves/Chart.ts";
import { ChartCard, type DrawnRun, type Settings } from "../curves/ChartCard.ts";
import { clock, duration } from "../format.ts";
import { runColour } from "../palette.ts";
import { resultSentence } from "../result.ts";
import { apply, type Theme } from "../theme.ts";
import { Chosen } from "./Chosen.ts";
import { csvOf } from "./csv.ts";
import type { ReportData, ReportRun } from "./ReportData.ts";
import { RunSection } from "./RunSection.ts";

const heads = ["run", "state", "mode", "staleness allowed", "seed", "steps", "began", "took"];

const Facts = ({ runs }: { readonly runs: readonly ReportRun[] }) =>
  html`<div class="rp-scroll"><table>
    <thead><tr>${heads.map((head) => html`<th key=${head} scope="col">${head}</th>`)}</tr></thead>
    <tbody>${runs.map(
      ({ card }, at) => html`<tr key=${card.id}>
        <td><b style=${{ color: runColour(at) }}>${card.id}</b></td>
        <td><span class=${`pill ${card.state}`} title=${card.message ?? ""}>${card.state}</span></td>
        <td>${card.mode}</td><td class="num">${card.maxStaleness}</td>
        <td class="num">${card.seed}</td><td class="num">${card.step} of ${card.steps}</td>
        <td>${clock(card.started)}</td><td>${duration(card.last - card.started)}</td>
      </tr>`,
    )}</tbody>
  </table></div>`;

const settings: Settings = { axis: "step", smoothing: 0, log: false, band: true, marks: false };

const Charts = ({ data: { metrics, runs }, theme }: { readonly data: ReportData; readonly theme: Theme }) => {
  const [zoom, setZoom] = useState<Range | null>(null);
  const names = [...new Set(runs.flatMap(({ curves }) => curves.series.map(({ name }) => name)))];
  const about = new Map(metrics.map((metric) => [metric.name, metric]));
  return html`<div class="chartgrid">${names.map((name) => {
    const drawn = runs.flatMap(({ card, curves }, at): readonly DrawnRun[] =>
      curves.series.some((series) => series.name === name)
        ? [{ id: card.id, label: card.id, colour: runColour(at), started: card.started, curves }]
        : [],
    );
    return html`<${ChartCard} key=${name} name=${name} card=${about.get(name) ?? null} runs=${drawn} settings=${settings} zoom=${zoom} onZoom=${setZoom}
      marks=${[]} at=${null} viewed=${null} theme=${theme} csv=${csvOf(name, runs)} />`;
  })}</div>`;
};

const system = (): Theme => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

export const Report = ({ data }: { readonly data: ReportData }): VNode => {
  const [theme, setTheme] = useState(system);
  const { runs, version, written } = data;
  const other: Theme = theme === "dark" ? "light" : "dark";
  apply(theme);
  return html`<main class="rp">
    <header class="rp-head">
      <h1>millrace report</h1>
      <span class="muted">written ${clock(written)} by millrace ${version}</span>
      <span class="spacer"></span>
      <button type="button" onClick=${() => setTheme(other)}>${other}</button>
    </header>
    ${runs.map(({ card, summary }, at) => html`<p key=${card.id} class="resultsentence" style=${runs.length === 1 ? {} : { color: runColour(at) }}>${resultSentence({ ...card, name: runs.length === 1 ? card.name : card.id }, summary)}</p>`)}
    <${Facts} runs=${runs} />
    <h2>Curves</h2>
    <${Charts} data=${data} theme=${theme} />
    <h2>${runs.length === 1 ? "The run" : "The runs"}</h2>
    ${runs.map((run, at) => html`<${RunSection} key=${run.card.id} run=${run} colour=${runColour(at)} theme=${theme} />`)}
    <h2>Episodes</h2>
    ${runs.map((run, at) => html`<${Chosen} key=${run.card.id} run=${run} colour=${runColour(at)} />`)}
  </main>`;
};
