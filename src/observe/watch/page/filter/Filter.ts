/**
 * The filter over time: the scores of every group, the cut, the kept groups, and how far the trained episodes differ from the
 * generated ones.
 */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { RunCard } from "../../Api.ts";
import type { Client } from "../Client.ts";
import type { Range } from "../curves/Chart.ts";
import { ChartCard, type Settings } from "../curves/ChartCard.ts";
import { cardsBy } from "../curves/choose.ts";
import { useCurves } from "../curves/useCurves.ts";
import { runColour } from "../palette.ts";
import type { Route } from "../route.ts";
import { positionAt, type Scale, stepAt } from "../timeline/scale.ts";
import { useLoad } from "../useLoad.ts";
import type { Mode } from "./draw.ts";
import { Levels, levelMetrics } from "./Levels.ts";
import { VerdictLegend } from "./VerdictLegend.ts";
import { WindowMap } from "./WindowMap.ts";
import { WindowPanel } from "./WindowPanel.ts";
import { indexOfWindow, spanOf } from "./windows.ts";

const LIMIT = 200;
const LAST = 50;

/** The metrics that show the filter's effect on the run. */
const shown: readonly string[] = [
  "rollout/filter_kept_ratio",
  "rollout/filter_zero_count",
  "rollout/in_group_std",
  "rollout/chosen_in_group_std",
  "drift/trained_length_ratio",
  "train/success",
];

const settings: Settings = { axis: "step", smoothing: 0.8, log: false, band: true, marks: false };

export interface FilterProps {
  readonly api: Client;
  readonly run: RunCard;
  readonly route: Route;
  readonly step: number;
  /** Newest step that has episodes. */
  readonly newest: number | null;
  readonly scale: Scale | null;
  readonly theme: "light" | "dark";
}

const FilterCharts = ({ api, route, run, scale, step, theme }: FilterProps): VNode => {
  const [zoom, setZoom] = useState<Range | null>(null);
  const catalogue = useLoad(api.catalogue, []);
  const names = useLoad((signal) => api.names(run.id, signal), [run.id, step > 0]);
  const cardOf = useMemo(() => cardsBy(catalogue.value ?? []), [catalogue.value]);
  const drawn = shown.filter((name) => names.value?.includes(name));
  const { byRun } = useCurves(api, [{ id: run.id, step }], drawn);
  const runs = [
    {
      id: run.id,
      label: `${run.name} · ${run.stamp}`,
      colour: runColour(0),
      started: run.started,
      curves: byRun.get(run.id),
    },
  ];
  const viewed = route.at === null || scale === null ? null : positionAt(scale, route.at);
  return html`<div class="chartgrid">
    ${drawn.map(
      (
        name,
      ) => html`<${ChartCard} key=${name} name=${name} card=${cardOf(name)} runs=${runs} settings=${settings} zoom=${zoom} onZoom=${setZoom}
        marks=${[]} at=${route.at} viewed=${viewed} theme=${theme} csv=${() => api.csv(run.id, [name])} />`,
    )}
  </div>`;
};

/** The tables of levels; nothing in a run without a task sampler. */
const FilterLevels = ({ api, route, run, scale, step }: FilterProps): VNode | null => {
  const names = useLoad((signal) => api.names(run.id, signal), [run.id, step > 0]);
  const drawn = levelMetrics(names.value ?? []);
  const curves = useCurves(api, [{ id: run.id, step }], drawn).byRun.get(run.id);
  if (curves === undefined) return null;
  const shownStep = route.at === null || scale === null ? step : stepAt(scale, route.at);
  return html`<${Levels} curves=${curves} step=${shownStep} />`;
};

export const Filter = (props: FilterProps): VNode => {
  const { api, newest, route, run, scale, step, theme } = props;
  const [mode, setMode] = useState<Mode>("ranks");
  const [last, setLast] = useState<number | null>(null);
  const [chosen, setChosen] = useState<number | null>(null);
  const end = route.at === null || scale === null ? step : stepAt(scale, route.at);
  // In a long run, one more step changes no drawn window before the next one is chosen.
  const coarse = last === null && route.at === null ? end - (end % Math.max(1, Math.floor(end / LIMIT))) : end;
  const { error, loading, value } = useLoad(
    end < 1 ? null : (signal) => api.windows(run.id, { ...spanOf(coarse, last), limit: LIMIT }, signal),
    [run.id, coarse, last],
  );
  const windows = end < 1 || value === null ? [] : value;
  const selected = chosen === null ? windows.length - 1 : indexOfWindow(windows, chosen);
  const window = windows[selected];
  const empty = error ?? (loading ? "Reading the windows …" : "No window has been judged up to here.");
  return html`<div class="filterview">
    <div class="viewhead">
      <h2>Reward variance of every group</h2>
      <span class="segments" role="group" aria-label="Windows"><button type="button" aria-pressed=${last === null} onClick=${() => setLast(null)}>whole run</button><button
        type="button" aria-pressed=${last !== null} onClick=${() => setLast(LAST)}>last ${LAST}</button></span>
      <span class="segments" role="group" aria-label="Drawn by"><button type="button" aria-pressed=${mode === "ranks"} onClick=${() => setMode("ranks")}>by rank</button><button
        type="button" aria-pressed=${mode === "scores"} onClick=${() => setMode("scores")}>by score</button></span>
      <span class="spacer"></span>
      <${VerdictLegend} windows=${windows} />
    </div>
    ${
      window === undefined
        ? html`<p class="empty panel">${empty}</p>`
        : html`<div class="filtergrid">
            <section class="panel" aria-label="Windows">
              <${WindowMap} windows=${windows} mode=${mode} selected=${selected} theme=${theme} onSelect=${(index: number) => setChosen(index === windows.length - 1 ? null : (windows[index]?.window ?? null))} />
              <p class="muted small">A column is a window: above, the share kept; below, its groups ${mode === "ranks" ? "from the highest score down, stronger where it is higher" : "by score, with the cut as a line"}. Arrow keys go from window to window.</p>
            </section>
            <${WindowPanel} newest=${newest} api=${api} run=${run.id} route=${route} window=${window} />
          </div>`
    }
    <${FilterLevels} ...${props} />
    <div class="viewhead below-head"><h2>What it makes of the run</h2></div>
    <${FilterCharts} ...${props} />
  </div>`;
};
