/** Any metrics of the current run and of those laid over it, as charts that share their axis, zoom and cursor. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { RunCard, Timeline } from "../../Api.ts";
import type { Client } from "../Client.ts";
import { runColour } from "../palette.ts";
import { format, type Route } from "../route.ts";
import { positionAt, type Scale } from "../timeline/scale.ts";
import { useSteps } from "../useLive.ts";
import { useLoad } from "../useLoad.ts";
import type { Go } from "../useRoute.ts";
import { Bar } from "./Bar.ts";
import type { Range } from "./Chart.ts";
import { ChartCard, type DrawnRun, type Settings } from "./ChartCard.ts";
import { cardsBy, drawnNames } from "./choose.ts";
import { Picker } from "./Picker.ts";
import { fileNameOf } from "./png.ts";
import { type GrowingRun, useCurves } from "./useCurves.ts";

const key = (name: string): string => `millrace.curves.${name}`;

/** Reads one of the reader's choices that this browser keeps. What cannot be read is as good as never chosen. */
const stored = <A>(name: string): A | null => {
  try {
    return JSON.parse(localStorage.getItem(key(name)) ?? "null") as A | null;
  } catch {
    return null;
  }
};

const store = (name: string, value: unknown): void => localStorage.setItem(key(name), JSON.stringify(value));

export interface CurvesProps {
  readonly api: Client;
  readonly run: RunCard;
  readonly runs: readonly RunCard[];
  readonly route: Route;
  readonly go: Go;
  /** Newest step of the current run. */
  readonly step: number;
  /** From times to steps; null until the run's timeline is loaded. */
  readonly scale: Scale | null;
  /** Its marks are drawn into the curves. */
  readonly timeline: Timeline | null;
  readonly theme: "light" | "dark";
}

/** Other runs whose steps are streamed. A browser opens six connections to a server, and requests need some of them. */
const MOST_STREAMS = 3;

const usual: Settings = { axis: "step", smoothing: 0.6, log: false, band: true, marks: false };

const Legend = ({
  drawn,
  go,
  route,
}: {
  readonly drawn: readonly DrawnRun[];
  readonly route: Route;
  readonly go: Go;
}): VNode =>
  html`<div class="runlegend">
    ${drawn.map(
      (
        { colour, id, label },
        i,
      ) => html`<span key=${id} class="runchip"><i class="swatch" style=${{ background: colour }}></i>${label}
        ${i === 0 ? null : html`<button type="button" class="quiet" aria-label="Take ${label} away" onClick=${() => go({ ...route, over: route.over.filter((other) => other !== id) })}>×</button>`}</span>`,
    )}
    <a href=${format({ ...route, view: "runs", parts: [] })}>lay another run over it</a>
  </div>`;

/** Position of the viewed moment on the chosen axis; null while the newest one is viewed. */
const viewedPosition = ({ route, run, scale }: CurvesProps, settings: Settings): number | null => {
  if (route.at === null) return null;
  if (settings.axis === "time") return (route.at - run.started) / 1000;
  return scale === null ? null : positionAt(scale, route.at);
};

/** The newest step of the current run and of those laid over it. The first few that still run are streamed; the others have step 0. */
const useNewestSteps = (api: Client, run: RunCard, over: readonly RunCard[], step: number): readonly GrowingRun[] => {
  const running = over.filter(({ state }) => state === "running").slice(0, MOST_STREAMS);
  const steps = useSteps(
    api,
    running.map(({ id }) => id),
  );
  return [{ id: run.id, step }, ...over.map(({ id }) => ({ id, step: steps.get(id) ?? 0 }))];
};

export const Curves = (props: CurvesProps): VNode => {
  const { api, go, route, run, runs, step, theme, timeline } = props;
  const [settings, setSettings] = useState<Settings>(() => ({ ...usual, ...stored<Settings>("settings") }));
  const [chosen, setChosen] = useState(() => stored<readonly string[]>("metrics"));
  const [zoom, setZoom] = useState<Range | null>(null);
  const catalogue = useLoad(api.catalogue, []);
  // A metric may come later than the first step, as that of a validation.
  const names = useLoad((signal) => api.names(run.id, signal), [run.id, Math.floor(step / 10)]);
  const cards = catalogue.value ?? [];
  const cardOf = useMemo(() => cardsBy(cards), [cards]);
  const drawn = drawnNames(chosen, names.value ?? []);
  const over = route.over.flatMap((id) => runs.find((other) => other.id === id && id !== run.id) ?? []);
  const newestSteps = useNewestSteps(api, run, over, step);
  const { byRun, error } = useCurves(api, newestSteps, drawn);
  const drawnRuns = [run, ...over].map(
    ({ id, name, stamp, started }, i): DrawnRun => ({
      id,
      label: `${name} · ${stamp}`,
      colour: runColour(i),
      started,
      curves: byRun.get(id),
    }),
  );
  const change = (next: Settings): void => {
    if (next.axis !== settings.axis) setZoom(null);
    store("settings", next);
    setSettings(next);
  };
  const choose = (names: readonly string[] | null): void => {
    store("metrics", names);
    setChosen(names);
  };
  const failure = error ?? names.error ?? catalogue.error;
  return html`<div class="curvesview">
    <${Picker} names=${names.value ?? []} cards=${cards} drawn=${drawn} onChange=${choose} onDefault=${() => choose(null)} />
    <div class="charts">
      <${Bar} settings=${settings} onChange=${change} zoomed=${zoom !== null} onReset=${() => setZoom(null)} csv=${() => api.csv(run.id, drawn)} file="${fileNameOf(run.id)}.csv" />
      <${Legend} drawn=${drawnRuns} route=${route} go=${go} />
      ${failure === null ? null : html`<p class="note warn">${failure}</p>`}
      ${names.value !== null && drawn.length === 0 ? html`<p class="empty">${names.value.length === 0 ? "The run has not measured anything yet." : "Choose a metric from the list."}</p>` : null}
      <div class="chartgrid">
        ${drawn.map(
          (
            name,
          ) => html`<${ChartCard} key=${name} name=${name} card=${cardOf(name)} runs=${drawnRuns} settings=${settings} zoom=${zoom} onZoom=${setZoom}
            marks=${timeline?.marks ?? []} at=${route.at} viewed=${viewedPosition(props, settings)} theme=${theme} csv=${() => api.csv(run.id, [name])}
            onRemove=${() => choose(drawn.filter((other) => other !== name))} />`,
        )}
      </div>
    </div>
  </div>`;
};
