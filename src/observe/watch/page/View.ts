/** The view in the address, of the current run at the shown moment. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import type { LineView, RunCard, Timeline } from "../Api.ts";
import type { Client } from "./Client.ts";
import type { Controls } from "./controls/useControls.ts";
import { Curves } from "./curves/Curves.ts";
import { Episodes } from "./episodes/Episodes.ts";
import { Filter } from "./filter/Filter.ts";
import { Line } from "./line/Line.ts";
import type { Route } from "./route.ts";
import { Runs } from "./runs/Runs.ts";
import { Summary } from "./Summary.ts";
import type { Scale } from "./timeline/scale.ts";
import type { Live } from "./useLive.ts";
import type { Go } from "./useRoute.ts";

export interface ViewProps {
  readonly api: Client;
  readonly run: RunCard;
  readonly runs: readonly RunCard[];
  readonly route: Route;
  readonly go: Go;
  readonly reload: () => void;
  readonly line: LineView | null;
  readonly lineError: string | null;
  readonly live: Live;
  readonly scale: Scale | null;
  readonly timeline: Timeline | null;
  readonly controls: Controls;
  readonly theme: "light" | "dark";
}

const LineOf = ({ controls, line, lineError }: Pick<ViewProps, "controls" | "line" | "lineError">): VNode => {
  if (line !== null) {
    return html`${lineError === null ? null : html`<p class="banner warn">${lineError}</p>`}<${Line} view=${line} controls=${controls} />`;
  }
  return html`<p class="empty">${lineError ?? "Waiting for the first sign of the line …"}</p>`;
};

export const View = (props: ViewProps): VNode => {
  const { api, go, live, reload, route, run, runs, scale, theme, timeline } = props;
  switch (route.view) {
    case "summary":
      return html`<${Summary} key=${run.state} api=${api} run=${run} route=${route} step=${live.step ?? run.step} timeline=${timeline} theme=${theme} />`;
    case "line":
    case null:
      return LineOf(props);
    case "curves":
      return html`<${Curves} api=${api} run=${run} runs=${runs} route=${route} go=${go} step=${live.step ?? run.step} scale=${scale} timeline=${timeline} theme=${theme} />`;
    case "filter":
      return html`<${Filter} newest=${live.episodes} api=${api} run=${run} route=${route} go=${go} step=${live.step ?? run.step} scale=${scale} theme=${theme} />`;
    case "episodes":
      return html`<${Episodes} api=${api} run=${run.id} at=${route.at} route=${route} newest=${live.episodes} />`;
    case "runs":
      return html`<${Runs} api=${api} runs=${runs} run=${run} route=${route} go=${go} reload=${reload} />`;
  }
};
