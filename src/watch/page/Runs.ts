/** The runs that the server shows: the current one is picked here, others are laid over it in the curves. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import type { RunCard } from "../Api.ts";
import { clock, duration } from "./format.ts";
import { StatePill } from "./Header.ts";
import { runColour } from "./palette.ts";
import { format, type Route } from "./route.ts";
import type { Go } from "./useRoute.ts";

interface RunsProps {
  readonly runs: readonly RunCard[];
  readonly run: RunCard;
  readonly route: Route;
  readonly go: Go;
  readonly reload: () => void;
}

/** The runs laid over the current one after `id` was ticked or not. */
export const ticked = (over: readonly string[], id: string, on: boolean): readonly string[] =>
  on ? [...new Set([...over, id])] : over.filter((other) => other !== id);

const Row = ({ go, item, route, run }: Pick<RunsProps, "go" | "route" | "run"> & { readonly item: RunCard }): VNode => {
  const current = item.id === run.id;
  const over = current || route.over.includes(item.id);
  const place = current ? 0 : route.over.indexOf(item.id) + 1;
  const pick = format({
    ...route,
    view: "line",
    parts: [],
    run: item.id,
    at: null,
    over: ticked(route.over, item.id, false),
  });
  return html`<tr class=${current ? "current" : ""}>
    <td><input type="checkbox" aria-label="Lay ${item.name} ${item.stamp} over the curves" checked=${over} disabled=${current}
      onChange=${(event: Event & { readonly currentTarget: HTMLInputElement }) =>
        go({ ...route, over: ticked(route.over, item.id, event.currentTarget.checked) })} />
      <i class="swatch run" style=${{ background: over ? runColour(place) : "transparent" }}></i></td>
    <td><a href=${pick} aria-current=${current ? "true" : undefined}>${item.name}</a><span class="muted"> ${item.stamp}</span></td>
    <td><${StatePill} state=${item.state} /></td>
    <td class="num">${item.step.toLocaleString("en-US")}<span class="muted"> / ${item.steps.toLocaleString("en-US")}</span></td>
    <td>${item.mode}${item.mode === "async" ? html`<span class="muted"> ≤ ${item.maxStaleness}</span>` : null}</td>
    <td class="num">${item.seed}</td>
    <td>${clock(item.started)}</td>
    <td class="num">${duration(item.last - item.started)}</td>
    <td class="message" title=${item.message ?? ""}>${item.message ?? ""}</td>
  </tr>`;
};

export const Runs = ({ go, reload, route, run, runs }: RunsProps): VNode => html`<div class="runsview">
  <div class="viewhead"><h2>Runs</h2><span class="muted">Pick one to look at; tick others to lay them over its curves.</span>
    <span class="spacer"></span><button type="button" onClick=${reload}>Read the list again</button></div>
  <div class="tablebox"><table>
    <thead><tr><th scope="col">over</th><th scope="col">run</th><th scope="col">state</th><th scope="col" class="num">step</th><th scope="col">mode</th><th scope="col" class="num">seed</th><th scope="col">started</th><th scope="col" class="num">took</th><th scope="col">message</th></tr></thead>
    <tbody>${runs.toSorted((a, b) => b.started - a.started).map((item) => html`<${Row} key=${item.id} item=${item} go=${go} route=${route} run=${run} />`)}</tbody>
  </table></div>
</div>`;
