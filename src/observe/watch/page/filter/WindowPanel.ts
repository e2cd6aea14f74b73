/** One window: its groups by rank with their scores against the cut, and the way to their episodes where they are recorded. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import type { JudgedGroup } from "../../../../domain/Event.ts";
import type { WindowView } from "../../Api.ts";
import type { Client } from "../Client.ts";
import { number, percent } from "../format.ts";
import { type Route, to } from "../route.ts";
import { useLoad } from "../useLoad.ts";
import { keptShare, ranked, saying } from "./windows.ts";

interface WindowPanelProps {
  readonly api: Client;
  readonly run: string;
  readonly route: Route;
  readonly window: WindowView;
  /** Newest step that has episodes. */
  readonly newest: number | null;
}

/** Episodes of a step that are requested, to know which groups are recorded. */
const EPISODES = 1000;

const Row = ({
  group,
  link,
  top,
}: {
  readonly group: JudgedGroup;
  readonly link: string | null;
  readonly top: number;
}): VNode => {
  const { score, verdict } = group;
  const name =
    link === null
      ? html`<span class="muted" title="Its episodes are not recorded">${group.group}</span>`
      : html`<a href=${link} title="Its episodes">${group.group}</a>`;
  return html`<tr class=${verdict}>
    <td class="num">${name}</td>
    <td class="scorecell"><i class="scorebar ${verdict}" style=${{ width: `${score === undefined ? 0 : Math.max(0, score / top) * 100}%` }}></i></td>
    <td class="num">${number(score)}</td>
    <td class="num">${verdict === "failed" ? number(null) : number(group.reward)}</td>
    <td>${saying[verdict]}</td>
  </tr>`;
};

const recordedText = (count: number, all: number): string =>
  count === 0
    ? "None of its groups is recorded: episodes are sampled."
    : `${count} of ${all} groups ${count === 1 ? "is" : "are"} recorded: the blue number opens the episodes.`;

export const WindowPanel = ({ api, newest, route, run, window }: WindowPanelProps): VNode => {
  const { cut, groups, step } = window;
  const recorded = useLoad(
    (signal) => api.episodes(run, { from: step, to: step, split: "train", limit: EPISODES }, signal),
    [run, step, newest !== null && newest >= step],
    { fresh: true },
  );
  const recordedGroups = new Set(recorded.value?.episodes.map(({ group }) => group));
  const top = Math.max(...groups.map(({ score }) => score ?? 0), Number.MIN_VALUE);
  return html`<section class="panel windowpanel" aria-label="Window of step ${step}">
    <header><h3>Window of step ${step}</h3><span class="muted">window ${window.window}, ${percent(keptShare(window))} kept${cut === null ? "" : `, cut at ${number(cut)}`}</span></header>
    <div class="windowtable"><table>
      <thead><tr><th scope="col" class="num">group</th><th scope="col">score</th><th scope="col" class="num"></th><th scope="col" class="num" title="Mean reward of its episodes">reward</th><th scope="col">verdict</th></tr></thead>
      <tbody>${ranked(groups).map(
        (group) =>
          html`<${Row} key=${group.group} group=${group} top=${top} link=${recordedGroups.has(group.group) ? to(route, "episodes", "train", String(step), String(group.group)) : null} />`,
      )}</tbody>
    </table></div>
    <p class="muted small">${recorded.loading ? "Looking for recorded episodes …" : recordedText(recordedGroups.size, groups.length)}</p>
  </section>`;
};
