/** What a report tells of one run beside its curves: filter, staleness, the line at its end, what was done to it, and its run file. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import type { LineView, Mark } from "../../Api.ts";
import { clock, count, number, percent } from "../format.ts";
import type { ReportRun } from "./ReportData.ts";
import { Verdicts } from "./Verdicts.ts";

const Staleness = ({ staleness }: { readonly staleness: LineView["staleness"] }) => {
  const all = staleness.reduce((sum, tokens) => sum + tokens, 0);
  if (all === 0) return null;
  return html`<div class="bars" role="img" aria-label="Staleness of tokens">
    ${staleness.map(
      (tokens, age) => html`<div key=${age} class="bar-row">
      <span>${age === 0 ? "fresh" : count(age, "version")}</span>
      <span class="bar"><i style=${{ width: `${(100 * tokens) / all}%` }}></i></span>
      <span>${percent(tokens / all)}</span>
    </div>`,
    )}
  </div>`;
};

const Stages = ({ stages }: { readonly stages: LineView["stages"] }) =>
  html`<div class="scroll"><table>
    <thead><tr>${["stage", "slots", "queue", "busy", "starved", "blocked"].map((head) => html`<th key=${head}>${head}</th>`)}</tr></thead>
    <tbody>${stages.map(
      ({ concurrency, name, queue, shares }) => html`<tr key=${name}>
        <td>${name}</td><td class="num">${concurrency}</td><td class="num">${queue}</td>
        <td class="num">${percent(shares.busy)}</td><td class="num">${percent(shares.starved)}</td><td class="num">${percent(shares.blocked)}</td>
      </tr>`,
    )}</tbody>
  </table></div>`;

const LastLine = ({ line }: { readonly line: LineView }) => html`
  <h4>Staleness of the tokens trained on</h4>
  <p class="hint">Of the last windows; how many versions older than the weights they trained.</p>
  <${Staleness} staleness=${line.staleness} />
  <h4>The line</h4>
  ${
    line.bottleneck === null
      ? null
      : html`<p><b>${line.bottleneck.stage}</b> bounds it, by its ${line.bottleneck.limit}. ${line.bottleneck.because}</p>`
  }
  <p class="hint">Its last seconds: ${number(line.tokensPerSecond.generated)} tokens/s generated, ${number(line.tokensPerSecond.trained)} trained on.</p>
  <${Stages} stages=${line.stages} />
`;

const Marks = ({ leftOut, marks }: { readonly marks: readonly Mark[]; readonly leftOut: number }) =>
  html`${leftOut === 0 ? null : html`<p class="hint">The ${count(leftOut, "oldest mark")} are left out.</p>`}
    <div class="scroll"><table>
      <thead><tr><th>time</th><th>step</th><th>what</th><th></th></tr></thead>
      <tbody>${marks.map(
        ({ at, by, kind, step, text }, index) =>
          html`<tr key=${index}><td>${clock(at)}</td><td class="num">${step}</td><td>${kind}</td><td class="wide">${text}${by === undefined ? "" : ` (${by})`}</td></tr>`,
      )}</tbody>
    </table></div>`;

export const RunSection = ({ colour, run }: { readonly run: ReportRun; readonly colour: number }): VNode => {
  const { config, counts, line, marks, windows } = run;
  return html`<section class="run-section">
    <h3 class=${`run run-${colour}`}>${run.card.id}</h3>
    ${windows.length === 0 ? null : html`<h4>Verdicts of the filter</h4><${Verdicts} windows=${windows} />`}
    ${line === null ? null : html`<${LastLine} line=${line} />`}
    ${marks.length === 0 ? null : html`<details><summary>${count(marks.length, "mark")}: validations, checkpoints, controls</summary><${Marks} marks=${marks} leftOut=${counts.marksLeftOut} /></details>`}
    ${config === null ? null : html`<details><summary>Run file</summary><pre>${config}</pre></details>`}
  </section>` as VNode;
};
