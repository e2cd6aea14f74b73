/**
 * A report's section on one run beside its curves: the filter, the last state of the line, its controls, and its run file.
 */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { LineView, Mark, WindowView } from "../../Api.ts";
import { Alarms } from "../Alarms.ts";
import { VerdictLegend } from "../filter/VerdictLegend.ts";
import { WindowMap, wordsOf } from "../filter/WindowMap.ts";
import { clock, count, number, percent } from "../format.ts";
import { Bottleneck } from "../line/Bottleneck.ts";
import { Staleness } from "../line/Staleness.ts";
import type { Theme } from "../theme.ts";
import { GradientBars } from "./GradientBars.ts";
import type { ReportRun } from "./ReportData.ts";

const Windows = ({ theme, windows }: { readonly windows: readonly WindowView[]; readonly theme: Theme }) => {
  const [selected, select] = useState(windows.length - 1);
  const window = windows[selected];
  return html`<h4>Reward variance of every group</h4>
    <${VerdictLegend} windows=${windows} />
    <div class="panel"><${WindowMap} windows=${windows} mode="ranks" selected=${selected} theme=${theme} onSelect=${select} /></div>
    <p class="muted">${window === undefined ? "" : `${wordsOf(window)}.`} ${count(windows.length, "window")} shown.</p>`;
};

const stageHeads = ["stage", "slots", "queue", "busy", "starved", "blocked"];

const Stages = ({ stages }: { readonly stages: LineView["stages"] }) =>
  html`<div class="rp-scroll"><table>
    <thead><tr>${stageHeads.map((head) => html`<th key=${head} scope="col">${head}</th>`)}</tr></thead>
    <tbody>${stages.map(
      ({ concurrency, name, queue, shares }) => html`<tr key=${name}>
        <td>${name}</td><td class="num">${concurrency}</td><td class="num">${queue}</td>
        <td class="num">${percent(shares.busy)}</td><td class="num">${percent(shares.starved)}</td><td class="num">${percent(shares.blocked)}</td>
      </tr>`,
    )}</tbody>
  </table></div>`;

const LastLine = ({ line }: { readonly line: LineView }) => html`
  <h4>The line, as it was last</h4>
  <p class="muted">${number(line.tokensPerSecond.generated)} tokens/s generated, ${number(line.tokensPerSecond.trained)} trained on; weights ${line.version}, adopted ${line.adopted}.</p>
  <div class="rp-line">
    <${Stages} stages=${line.stages} />
    <${Staleness} view=${line} />
  </div>
  ${line.bottleneck === null ? null : html`<${Bottleneck} view=${line} />`}
`;

const Marks = ({ leftOut, marks }: { readonly marks: readonly Mark[]; readonly leftOut: number }) =>
  html`<details>
    <summary>${count(marks.length, "mark")}: validations, checkpoints, controls</summary>
    ${leftOut === 0 ? null : html`<p class="muted">${count(leftOut, "older one")} left out.</p>`}
    <div class="rp-scroll"><table>
      <thead><tr><th scope="col">time</th><th scope="col">step</th><th scope="col">what</th><th></th></tr></thead>
      <tbody>${marks.map(
        ({ at, by, kind, step, text }, index) =>
          html`<tr key=${index}><td>${clock(at)}</td><td class="num">${step}</td><td>${kind}</td><td class="rp-wide">${text}${by === undefined ? "" : ` (${by})`}</td></tr>`,
      )}</tbody>
    </table></div>
  </details>`;

interface RunSectionProps {
  readonly run: ReportRun;
  readonly colour: string;
  readonly theme: Theme;
}

export const RunSection = ({ colour, run, theme }: RunSectionProps): VNode => {
  const { card, config, counts, gradients, line, marks, windows } = run;
  return html`<section class="rp-run" aria-label=${card.id}>
    <h3 style=${{ color: colour }}>${card.id}</h3>
    ${card.message === null ? null : html`<p class="muted">${card.message}</p>`}
    <${Alarms} line=${line} />
    ${windows.length === 0 ? null : html`<${Windows} windows=${windows} theme=${theme} />`}
    <${GradientBars} steps=${gradients} />
    ${line === null ? null : html`<${LastLine} line=${line} />`}
    ${marks.length === 0 ? null : html`<${Marks} marks=${marks} leftOut=${counts.marksLeftOut} />`}
    ${config === null ? null : html`<details><summary>Run file</summary><pre>${config}</pre></details>`}
  </section>`;
};
