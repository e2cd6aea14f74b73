/** The top of the page: the run with its state and progress, its controls, and the views. */
import { html } from "htm/preact";
import type { ComponentChildren, VNode } from "preact";
import type { RunCard } from "../Api.ts";
import { clock, duration } from "./format.ts";
import { format, type Route, to, type View, views } from "./route.ts";
import { runLabels } from "./runLabels.ts";
import type { Go } from "./useRoute.ts";

const titles: Readonly<Record<View, string>> = {
  summary: "Summary",
  line: "Line",
  curves: "Curves",
  filter: "Filter",
  episodes: "Episodes",
  runs: "Runs",
};

export const StatePill = ({ state }: Pick<RunCard, "state">): VNode =>
  html`<span class="pill ${state}"><i aria-hidden="true"></i>${state}</span>`;

interface StandingProps {
  readonly run: RunCard;
  /** True if the card shows a past moment. */
  readonly past: boolean;
  readonly lost: boolean;
}

/** The state of the run now or at a past moment. It is unknown for a run that went on when the connection broke. */
const Standing = ({ lost, past, run }: StandingProps): VNode => {
  if (run.state !== "running") return html`<${StatePill} state=${run.state} />`;
  if (past)
    return html`<span class="pill was" title="At the moment that the slider shows"><i aria-hidden="true"></i>was running</span>`;
  if (lost) return html`<span class="pill lost"><i aria-hidden="true"></i>connection lost</span>`;
  return html`<${StatePill} state=${run.state} />`;
};

const Progress = ({ run }: { readonly run: RunCard }): VNode => {
  const share = run.steps > 0 ? Math.min(1, run.step / run.steps) : 0;
  const spent = run.last - run.started;
  const left =
    run.state === "running" && run.step > 0
      ? `, about ${duration((spent / run.step) * (run.steps - run.step))} left`
      : "";
  const label = `Step ${run.step} of ${run.steps}, ${duration(spent)} so far${left}`;
  return html`<span class="progress" title=${label}>
    <span>step <b>${run.step.toLocaleString("en-US")}</b><span class="muted"> / ${run.steps.toLocaleString("en-US")}</span></span>
    <i class="meter" role="progressbar" aria-label="Steps" aria-valuemin="0" aria-valuemax=${run.steps} aria-valuenow=${run.step}><i style=${{ width: `${share * 100}%` }}></i></i>
  </span>`;
};

interface HeaderProps extends StandingProps {
  readonly runs: readonly RunCard[];
  readonly route: Route;
  readonly go: Go;
  readonly theme: "light" | "dark";
  readonly toggleTheme: () => void;
  readonly showKeys: () => void;
  readonly children?: ComponentChildren;
}

const RunPick = ({ go, route, run, runs }: Pick<HeaderProps, "go" | "route" | "run" | "runs">): VNode => {
  const labels = runLabels(runs);
  return html`<select aria-label="Run" title=${run.id} value=${run.id}
    onChange=${(event: Event & { readonly currentTarget: HTMLSelectElement }) => {
      const id = event.currentTarget.value;
      go({ ...route, parts: [], run: id, at: null, over: route.over.filter((other) => other !== id) });
    }}>
    ${runs.map(({ id }) => html`<option key=${id} value=${id} selected=${id === run.id}>${labels.get(id)}</option>`)}
  </select>`;
};

const modeTitle = ({ maxStaleness, mode, seed }: RunCard): string =>
  mode === "async"
    ? `Asynchronous: tokens are at most ${maxStaleness} versions old. Seed ${seed}.`
    : `Mode ${mode}, seed ${seed}.`;

export const Header = ({
  children,
  go,
  lost,
  past,
  route,
  run,
  runs,
  showKeys,
  theme,
  toggleTheme,
}: HeaderProps): VNode => html`<header class="top">
  <div class="bar">
    <a class="brand" href=${to(route, null)}><i aria-hidden="true"></i><span>millrace</span></a>
    <${RunPick} go=${go} route=${route} run=${run} runs=${runs} />
    <${Standing} run=${run} past=${past} lost=${lost} />
    <span class="badge" title=${modeTitle(run)}>${run.mode}${run.mode === "async" ? ` ≤ ${run.maxStaleness}` : ""}</span>
    <${Progress} run=${run} />
    <span class="spacer"></span>
    ${children}
    <span class="pageicons">
    <button type="button" class="icon" title="Light or dark (t)" aria-label=${theme === "dark" ? "Light theme" : "Dark theme"} onClick=${toggleTheme}>${theme === "dark" ? "☀" : "☾"}</button>
    <button type="button" class="icon" title="Keys (?)" aria-label="Keys" onClick=${showKeys}>?</button></span>
  </div>
  <nav class="viewtabs" aria-label="Views">
    ${views.map(
      (view) =>
        html`<a key=${view} href=${format({ ...route, view, parts: [] })} aria-current=${view === route.view ? "page" : undefined}>${titles[view]}</a>`,
    )}
  </nav>
</header>`;

/** The state that the reader must notice at the shown moment: the run has ended or died, or the server is gone. */
export const Banner = ({ lost, past, run }: StandingProps): VNode | null => {
  if (past && !lost) return null;
  const when = clock(run.last);
  const gone =
    lost && run.state !== "running"
      ? html` The page's server has ended too: <code>millrace watch</code> with the run's folder shows all of it again.`
      : null;
  const message = run.message === null || run.message === "" ? "" : ` ${run.message}`;
  if (run.state === "dead") {
    return html`<p class="banner bad" role="status"><b>The run died at ${when}.</b> It was killed before it could say why: the page shows what it had written. Resume it with <code>millrace train --resume</code>.${gone}</p>`;
  }
  if (run.state === "failed")
    return html`<p class="banner bad" role="status"><b>The run failed at ${when}.</b>${message}${gone}</p>`;
  if (run.state !== "running")
    return html`<p class="banner" role="status"><b>The run ended at ${when}:</b> ${run.state}.${message}${gone}</p>`;
  if (lost)
    return html`<p class="banner warn" role="status"><b>The connection to the page's server is lost.</b> What is shown is what came last; it is tried again by itself.</p>`;
  return null;
};
