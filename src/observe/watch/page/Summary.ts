/** The result of a run: a sentence, its validations, the next steps, and the curves that show most. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { RunCard, RunSummary, Timeline } from "../Api.ts";
import type { Client } from "./Client.ts";
import type { Range } from "./curves/Chart.ts";
import { ChartCard, type DrawnRun, type Settings } from "./curves/ChartCard.ts";
import { cardsBy, drawnNames } from "./curves/choose.ts";
import { useCurves } from "./curves/useCurves.ts";
import { duration, none, percent } from "./format.ts";
import { runColour } from "./palette.ts";
import { intervalText, resultSentence, type Validation } from "./result.ts";
import { type Route, to } from "./route.ts";
import { useLoad } from "./useLoad.ts";

interface SummaryProps {
  readonly api: Client;
  readonly run: RunCard;
  readonly route: Route;
  readonly step: number;
  readonly timeline: Timeline | null;
  readonly theme: "light" | "dark";
}

const MOST_CHARTS = 6;

const settings: Settings = { axis: "step", smoothing: 0.6, log: false, band: true, marks: false };

const Tile = ({
  note = "",
  title,
  value,
}: {
  readonly title: string;
  readonly value: string;
  readonly note?: string;
}): VNode =>
  html`<div class="tile panel"><span class="muted">${title}</span><b>${value}</b><span class="muted">${note}</span></div>`;

const ValidationTile = ({
  title,
  validation,
}: {
  readonly title: string;
  readonly validation: Validation | null;
}): VNode | null => {
  if (validation === null) return null;
  const interval = intervalText(validation);
  const step = validation.step === null ? "" : `step ${validation.step}`;
  return html`<${Tile} title=${title} value=${percent(validation.success)} note=${[step, interval].filter((part) => part !== "").join(" · ")} />`;
};

const Tiles = ({ run, summary }: { readonly run: RunCard; readonly summary: RunSummary }): VNode => {
  const { checkpoint, failedShare, kind, minutes, steps, validation } = summary;
  const { before, best, last } = validation;
  const planned = steps.planned === null ? "" : `of ${steps.planned.toLocaleString("en-US")}`;
  const bestCheckpoint = checkpoint.best === null ? "" : `best: step ${checkpoint.best}`;
  return html`<div class="tiles">
    <${ValidationTile} title="Validation before" validation=${before} />
    <${ValidationTile} title="Best validation" validation=${kind === "evaluation" ? null : best} />
    <${ValidationTile} title=${kind === "evaluation" ? "Success" : "Last validation"} validation=${last} />
    ${kind === "evaluation" ? null : html`<${Tile} title="Steps" value=${steps.done.toLocaleString("en-US")} note=${planned} />`}
    <${Tile} title="Time" value=${minutes === null ? none : duration(minutes * 60_000)} note=${run.mode} />
    ${checkpoint.newest === null ? null : html`<${Tile} title="Newest checkpoint" value="step ${checkpoint.newest}" note=${bestCheckpoint} />`}
    ${failedShare === null || failedShare === 0 ? null : html`<${Tile} title="Episodes that failed" value=${percent(failedShare)} note="of training" />`}
  </div>`;
};

const Next = ({ run, summary: { folder } }: { readonly run: RunCard; readonly summary: RunSummary }): VNode | null => {
  if (run.state === "running") return null;
  const resumable = run.state !== "completed";
  return html`<details class="next"><summary>What to do next</summary><dl>
    <div><dt>see this again</dt><dd><code>millrace watch ${folder}</code></dd></div>
    <div><dt>send it to someone</dt><dd><code>millrace report ${folder}</code></dd></div>
    ${resumable ? html`<div><dt>go on</dt><dd><code>millrace train --resume ${folder}</code></dd></div>` : null}
  </dl></details>`;
};

const Charts = ({ api, run, step, theme, timeline }: SummaryProps): VNode => {
  const [zoom, setZoom] = useState<Range | null>(null);
  const catalogue = useLoad(api.catalogue, []);
  const names = useLoad((signal) => api.names(run.id, signal), [run.id, Math.floor(step / 10)]);
  const cardOf = useMemo(() => cardsBy(catalogue.value ?? []), [catalogue.value]);
  const drawn = drawnNames(null, names.value ?? []).slice(0, MOST_CHARTS);
  const { byRun, error } = useCurves(api, [{ id: run.id, step }], drawn);
  const shown: DrawnRun = {
    id: run.id,
    label: run.name,
    colour: runColour(0),
    started: run.started,
    curves: byRun.get(run.id),
  };
  return html`${error === null ? null : html`<p class="note warn">${error}</p>`}<div class="chartgrid">${drawn.map(
    (
      name,
    ) => html`<${ChartCard} key=${name} name=${name} card=${cardOf(name)} runs=${[shown]} settings=${settings} zoom=${zoom} onZoom=${setZoom}
      marks=${timeline?.marks ?? []} at=${null} viewed=${null} theme=${theme} csv=${() => api.csv(run.id, [name])} />`,
  )}</div>`;
};

export const Summary = (props: SummaryProps): VNode => {
  const { api, route, run, step } = props;
  const { error, value } = useLoad((signal) => api.summary(run.id, signal), [run.id, run.state, Math.floor(step / 5)]);
  return html`<div class="summaryview">
    ${error === null ? null : html`<p class="note warn">${error}</p>`}
    ${
      value === null
        ? null
        : html`<h2 class="resultsentence">${resultSentence(run, value)}</h2>
          <${Tiles} run=${run} summary=${value} />
          ${route.at === null ? null : html`<p class="muted">The summary is of the run as it is now; the other views show the moment of the slider.</p>`}
          <${Next} run=${run} summary=${value} />`
    }
    <${Charts} ...${props} />
    <p><a href=${to(route, "curves")}>All curves</a> · <a href=${to(route, "episodes")}>Recorded episodes</a> · <a href=${to(route, "runs")}>Compare with other runs</a></p>
  </div>`;
};
