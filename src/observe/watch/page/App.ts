/** The page: a run, the shown moment, and one of its views. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import type { RunCard } from "../Api.ts";
import { Alarms } from "./Alarms.ts";
import { type Client, isLocked } from "./Client.ts";
import { ControlBar } from "./controls/ControlBar.ts";
import { TokenDialog, TokenForm } from "./controls/TokenDialog.ts";
import { useControls } from "./controls/useControls.ts";
import { refusalText } from "./controls/wording.ts";
import { cardAt, chooseRun, withNews } from "./currentRun.ts";
import { Banner, Header } from "./Header.ts";
import { KeysDialog, useKeys } from "./Keys.ts";
import { type Route, views as viewNames } from "./route.ts";
import { Toasts, useToasts } from "./Toasts.ts";
import * as theme from "./theme.ts";
import { TimeBar } from "./timeline/TimeBar.ts";
import { useTravel } from "./timeline/useTravel.ts";
import * as token from "./token.ts";
import { useLive } from "./useLive.ts";
import { useLoad } from "./useLoad.ts";
import { type Go, useRoute } from "./useRoute.ts";
import { View } from "./View.ts";

const useTheme = (): readonly ["light" | "dark", () => void] => {
  const [now, setNow] = useState(theme.current);
  const toggle = useCallback(() => {
    const next = theme.current() === "dark" ? "light" : "dark";
    theme.choose(next);
    setNow(next);
  }, []);
  return [now, toggle];
};

interface RunPageProps {
  readonly api: Client;
  readonly run: RunCard;
  readonly runs: readonly RunCard[];
  readonly route: Route;
  readonly go: Go;
  readonly reload: () => void;
}

const RunPage = ({ api, go, reload, route: address, run: listed, runs }: RunPageProps): VNode => {
  const live = useLive(api, listed.id);
  const run = withNews(listed, live);
  const route = { ...address, view: address.view ?? (run.state === "running" ? "line" : "summary") };
  const [now, toggleTheme] = useTheme();
  const [keys, setKeys] = useState(false);
  const [toasts, tell, drop] = useToasts();
  const [controls, question] = useControls(
    api,
    run.id,
    refusalText(run, { past: route.at !== null, lost: live.lost }),
    tell,
  );
  const travel = useTravel({ api, run, route, go, line: live.line });
  const { line, scale, seek, timeline } = travel;
  useEffect(() => {
    if (live.ended !== null) reload();
  }, [live.ended]);
  useKeys({
    ...Object.fromEntries(viewNames.map((view, i) => [String(i + 1), () => go({ ...route, view, parts: [] })])),
    ",": () => travel.step(-1),
    ".": () => travel.step(1),
    " ": travel.toggle,
    l: () => seek(null),
    t: toggleTheme,
    "?": () => setKeys(true),
  });
  return html`<div class="app">
    <${Header} runs=${runs} run=${cardAt(run, route.at, scale, timeline)} past=${route.at !== null} lost=${live.lost} route=${route} go=${go} theme=${now} toggleTheme=${toggleTheme} showKeys=${() => setKeys(true)}>
      ${run.state === "running" ? html`<${ControlBar} controls=${controls} paused=${live.line?.paused ?? false} />` : null}
    <//>
    <div class="notices"><${Banner} run=${run} lost=${live.lost} past=${route.at !== null} /><${Alarms} line=${line} /></div>
    <main id="main" tabindex="-1">
      <${View} api=${api} controls=${controls} go=${go} line=${line} lineError=${travel.lineError} live=${live} reload=${reload} route=${route} run=${run} runs=${runs} scale=${scale} theme=${now} timeline=${timeline} />
    </main>
    ${
      timeline === null || scale === null
        ? html`<footer class="timebar empty">${travel.error ?? "Reading the run's record …"}</footer>`
        : html`<${TimeBar} timeline=${timeline} scale=${scale} at=${route.at} running=${run.state === "running"} player=${travel.player} toggle=${travel.toggle} seek=${travel.jump} />`
    }
    <${Toasts} toasts=${toasts} drop=${drop} />
    <${TokenDialog} question=${question} />
    <${KeysDialog} open=${keys} onClose=${() => setKeys(false)} />
  </div>`;
};

const Alone = ({ text, title }: { readonly title: string; readonly text: string }): VNode =>
  html`<main class="alone"><h1>${title}</h1><p>${text}</p></main>`;

/** A server beyond loopback shows nothing without its token. */
const Locked = ({ give, wrong }: { readonly wrong: boolean; readonly give: (token: string) => void }): VNode =>
  html`<main class="alone"><h1>This server asks for its token</h1><${TokenForm} wrong=${wrong} give=${give} /></main>`;

export const App = ({ api }: { readonly api: Client }): VNode => {
  const [route, go] = useRoute();
  const [round, setRound] = useState(0);
  const [locked, setLocked] = useState(false);
  const list = async (signal: AbortSignal): Promise<readonly RunCard[]> => {
    try {
      const runs = await api.runs(signal);
      setLocked(false);
      return runs;
    } catch (cause) {
      if (isLocked(cause)) setLocked(true);
      throw cause;
    }
  };
  const { error, value: runs } = useLoad(list, [round, route.view === "runs"]);
  const reload = useCallback(() => setRound((round) => round + 1), []);
  if (locked) {
    const give = (given: string): void => {
      token.keep(given);
      reload();
    };
    return html`<${Locked} wrong=${token.read() !== null} give=${give} />`;
  }
  if (runs === null) {
    return html`<${Alone} title=${error === null ? "millrace" : "Nothing to show"} text=${error ?? "Reading the runs …"} />`;
  }
  const run = chooseRun(runs, route.run);
  if (run === null) {
    const text =
      runs.length === 0 ? "No run is here yet. Start one with `millrace train`." : `There is no run ${route.run}.`;
    return html`<${Alone} title="Nothing to show" text=${text} />`;
  }
  return html`<${RunPage} key=${run.id} api=${api} go=${go} reload=${reload} route=${route} run=${run} runs=${runs} />`;
};
