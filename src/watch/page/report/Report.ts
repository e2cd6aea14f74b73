/** A report of runs: facts, curves, what the filter did, the line, and episodes. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { clock, duration } from "../format.ts";
import { Chart, type Line } from "./Chart.ts";
import { Chosen } from "./Chosen.ts";
import type { ReportData, ReportRun } from "./ReportData.ts";
import { RunSection } from "./RunSection.ts";

/** Runs beyond them share colours again. */
const colours = 6;

const colourOf = (at: number): number => at % colours;

const heads = ["run", "state", "mode", "staleness allowed", "seed", "steps", "began", "took"];

const Facts = ({ runs }: { readonly runs: readonly ReportRun[] }) =>
  html`<div class="scroll"><table>
    <thead><tr>${heads.map((head) => html`<th key=${head}>${head}</th>`)}</tr></thead>
    <tbody>${runs.map(
      ({ card }, at) => html`<tr key=${card.id}>
        <td><b class=${`run run-${colourOf(at)}`}>${card.id}</b></td>
        <td title=${card.message ?? ""}>${card.state}</td><td>${card.mode}</td><td class="num">${card.maxStaleness}</td>
        <td class="num">${card.seed}</td><td class="num">${card.step} of ${card.steps}</td>
        <td>${clock(card.started)}</td><td>${duration(card.last - card.started)}</td>
      </tr>`,
    )}</tbody>
  </table></div>`;

const linesOf = (runs: readonly ReportRun[], name: string): readonly Line[] =>
  runs.flatMap(({ card, curves }, at) => {
    const series = curves.series.find((one) => one.name === name);
    if (series === undefined) return [];
    const { max, mean, min } = series;
    return [{ run: card.id, colour: colourOf(at), steps: curves.steps, mean, min, max }];
  });

const ThemeButton = () => {
  const [theme, set] = useState<"light" | "dark" | null>(null);
  const other =
    (theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark" ? "light" : "dark";
  const turn = (): void => {
    document.documentElement.style.colorScheme = other;
    set(other);
  };
  return html`<button type="button" class="theme" onClick=${turn}>${other}</button>`;
};

export const Report = ({ data: { metrics, runs, version, written } }: { readonly data: ReportData }): VNode => {
  const names = [...new Set(runs.flatMap(({ curves }) => curves.series.map(({ name }) => name)))];
  const about = new Map(metrics.map((metric) => [metric.name, metric]));
  return html`<main>
    <header class="top">
      <h1>millrace report</h1>
      <span class="hint">written ${clock(written)} by millrace ${version}</span>
      <${ThemeButton} />
    </header>
    <${Facts} runs=${runs} />
    <h2>Curves</h2>
    <div class="charts">${names.map(
      (name) =>
        html`<${Chart} key=${name} name=${name} about=${about.get(name) ?? null} lines=${linesOf(runs, name)} />`,
    )}</div>
    <h2>${runs.length === 1 ? "The run" : "The runs"}</h2>
    ${runs.map((run, at) => html`<${RunSection} key=${run.card.id} run=${run} colour=${colourOf(at)} />`)}
    <h2>Episodes</h2>
    ${runs.map((run, at) => html`<${Chosen} key=${run.card.id} run=${run} colour=${colourOf(at)} />`)}
  </main>` as VNode;
};
