/** The page: a run, the moment looked at, and one of its views. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import type { RunCard } from "../Api.ts";
import type { Client } from "./Client.ts";
import { ControlBar } from "./controls/ControlBar.ts";
import { TokenDialog } from "./controls/TokenDialog.ts";
import { useControls } from "./controls/useControls.ts";
import { refusalOf } from "./controls/wording.ts";
import { brought, chosen, newestOf } from "./currentRun.ts";
import { Banner, Header } from "./Header.ts";
import { KeysDialog, useKeys } from "./Keys.ts";
import type { Route } from "./route.ts";
import { views as viewNames } from "./route.ts";
import { Toasts, useToasts } from "./Toasts.ts";
import * as theme from "./theme.ts";
import { moved, scaleOf, timeAt } from "./timeline/scale.ts";
import { TimeBar } from "./timeline/TimeBar.ts";
import { usePlayer } from "./timeline/usePlayer.ts";
import { useLive } from "./useLive.ts";
import { useLoad } from "./useLoad.ts";
import { useNewest } from "./useNewest.ts";
import { type Go, useRoute } from "./useRoute.ts";
import { View } from "./View.ts";

const POINTS = 2000;

const useTheme = (): readonly ["light" | "dark", () => void] => {
  const [now, setNow] = useState(theme.current);
  const toggle = useCallback(() => {
    const next = theme.current() === "dark" ? "light" : "dark";
    theme.choose(next);
    setNow(next);
  }, []);
  return [now, toggle];
};

/** The slider's scale: what is written of the run, and on to its newest moment. */
const useTimeline = (api: Client, run: RunCard, line: ReturnType<typeof useLive>["line"]) => {
  // Marks come with it: it is read again every few steps, and when the run ends.
  const every = Math.max(5, Math.round(run.step / 100));
  const { error, value } = useLoad(
    (signal) => api.timeline(run.id, POINTS, signal),
    [run.id, run.state, Math.floor(run.step / every)],
  );
  const newest = run.state === "running" ? newestOf(line) : null;
  const scale = useMemo(() => (value === null ? null : scaleOf(value, newest)), [value, newest?.at, newest?.step]);
  return { timeline: value, scale, error };
};

interface RunPageProps {
  readonly api: Client;
  readonly run: RunCard;
  readonly runs: readonly RunCard[];
  readonly route: Route;
  readonly go: Go;
  readonly reload: () => void;
}

const RunPage = ({ api, go, reload, route, run: listed, runs }: RunPageProps): VNode => {
  const live = useLive(api, listed.id);
  const run = brought(listed, live);
  const [now, toggleTheme] = useTheme();
  const [keys, setKeys] = useState(false);
  const [toasts, tell, drop] = useToasts();
  const [controls, question] = useControls(api, run.id, refusalOf(run, route.at !== null), tell);
  const { error, scale, timeline } = useTimeline(api, run, live.line);
  const seek = (at: number | null): void => go({ ...route, at }, true);
  const end = scale === null ? run.last : timeAt(scale, scale.end);
  const player = usePlayer(route.at ?? end, end, seek);
  const past = useNewest(
    route.at ?? (live.line === null ? 0 : null),
    (at, signal) => api.line(run.id, at === 0 ? null : at, signal),
    run.id,
  );
  const line = route.at === null ? (live.line ?? past.value) : past.value;
  useEffect(() => {
    if (live.ended !== null) reload();
  }, [live.ended]);
  const step = (by: number): void => {
    if (scale === null) return;
    const next = moved(scale, route.at ?? end, by);
    seek(next >= end ? null : next);
  };
  const toggle = (): void => {
    if (player.playing) {
      player.stop();
      return;
    }
    // From the end there is nothing to play: the run is shown from its start.
    if (route.at === null && scale !== null) seek(timeAt(scale, 0));
    player.start();
  };
  useKeys({
    ...Object.fromEntries(viewNames.map((view, i) => [String(i + 1), () => go({ ...route, view, parts: [] })])),
    ",": () => step(-1),
    ".": () => step(1),
    " ": toggle,
    l: () => seek(null),
    t: toggleTheme,
    "?": () => setKeys(true),
  });
  return html`<div class="app">
    <${Header} runs=${runs} run=${run} route=${route} go=${go} theme=${now} toggleTheme=${toggleTheme} showKeys=${() => setKeys(true)}>
      <${ControlBar} controls=${controls} paused=${live.line?.paused ?? false} />
    <//>
    <${Banner} run=${run} lost=${live.lost} />
    <main id="main" tabindex="-1">
      <${View} api=${api} controls=${controls} go=${go} line=${line} lineError=${past.error} live=${live} reload=${reload} route=${route} run=${run} runs=${runs} scale=${scale} theme=${now} timeline=${timeline} />
    </main>
    ${
      timeline === null || scale === null
        ? html`<footer class="timebar empty">${error ?? "Reading the run's record …"}</footer>`
        : html`<${TimeBar} timeline=${timeline} scale=${scale} at=${route.at} running=${run.state === "running"} player=${player} toggle=${toggle} seek=${(
            at: number | null,
          ) => {
            player.stop();
            seek(at);
          }} />`
    }
    <${Toasts} toasts=${toasts} drop=${drop} />
    <${TokenDialog} question=${question} />
    <${KeysDialog} open=${keys} onClose=${() => setKeys(false)} />
  </div>`;
};

const Alone = ({ text, title }: { readonly title: string; readonly text: string }): VNode =>
  html`<main class="alone"><h1>${title}</h1><p>${text}</p></main>`;

export const App = ({ api }: { readonly api: Client }): VNode => {
  const [route, go] = useRoute();
  const [round, setRound] = useState(0);
  const { error, value: runs } = useLoad(api.runs, [round, route.view === "runs"]);
  const reload = useCallback(() => setRound((round) => round + 1), []);
  if (runs === null) {
    return html`<${Alone} title=${error === null ? "millrace" : "Nothing to show"} text=${error ?? "Reading the runs …"} />`;
  }
  const run = chosen(runs, route.run);
  if (run === null) {
    const text =
      runs.length === 0 ? "No run is here yet. Start one with `millrace train`." : `There is no run ${route.run}.`;
    return html`<${Alone} title="Nothing to show" text=${text} />`;
  }
  return html`<${RunPage} key=${run.id} api=${api} go=${go} reload=${reload} route=${route} run=${run} runs=${runs} />`;
};
