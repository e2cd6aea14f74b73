/**
 * The runs of the server for comparison: their results and their differing settings. One is current, others can be laid over its
 * curves.
 */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { RunCard } from "../../Api.ts";
import type { Client } from "../Client.ts";
import { clock, count, duration, none, percent } from "../format.ts";
import { StatePill } from "../Header.ts";
import { runColour } from "../palette.ts";
import { intervalText, type Validation } from "../result.ts";
import { format, type Route } from "../route.ts";
import { useLoad } from "../useLoad.ts";
import type { Go } from "../useRoute.ts";
import {
  found,
  lastColumns,
  ordered,
  type RowOrder,
  type RunColumn,
  type RunRow,
  resultColumns,
  settingColumns,
  sorted,
} from "./table.ts";

interface RunsProps {
  readonly api: Client;
  readonly runs: readonly RunCard[];
  readonly run: RunCard;
  readonly route: Route;
  readonly go: Go;
  readonly reload: () => void;
}

/** Columns of the configuration that are shown unless all are asked for. */
const FEW_SETTINGS = 5;

/** The runs laid over the current one after `id` was ticked or not. */
export const ticked = (over: readonly string[], id: string, on: boolean): readonly string[] =>
  on ? [...new Set([...over, id])] : over.filter((other) => other !== id);

const Share = ({ validation }: { readonly validation: Validation | null | undefined }): VNode => {
  if (validation === null || validation === undefined) return html`<span class="muted">${none}</span>`;
  const { step, success } = validation;
  return html`<span title=${step === null ? "" : `after step ${step}`}><b>${percent(success)}</b><small>${intervalText(validation)}</small></span>`;
};

const cells: Readonly<Record<string, (row: RunRow) => VNode | string>> = {
  state: ({ run }) => html`<span title=${run.message ?? ""}><${StatePill} state=${run.state} /></span>`,
  before: ({ summary }) => html`<${Share} validation=${summary?.validation.before} />`,
  best: ({ summary }) => html`<${Share} validation=${summary?.validation.best} />`,
  last: ({ summary }) => html`<${Share} validation=${summary?.validation.last} />`,
  steps: ({ run }) =>
    html`${run.step.toLocaleString("en-US")}<span class="muted"> / ${run.steps.toLocaleString("en-US")}</span>`,
  minutes: ({ summary }) => duration(typeof summary?.minutes === "number" ? summary.minutes * 60_000 : null),
  started: ({ run }) => clock(run.started),
};

const cellOf = (row: RunRow, { key, title }: RunColumn): VNode | string =>
  cells[key]?.(row) ?? row.settings[title] ?? none;

interface RowProps extends Pick<RunsProps, "go" | "route" | "run"> {
  readonly row: RunRow;
  readonly columns: readonly RunColumn[];
}

const Row = ({ columns, go, route, row, run }: RowProps): VNode => {
  const { id, message, name, stamp, state } = row.run;
  const isCurrent = id === run.id;
  const over = isCurrent || route.over.includes(id);
  const place = isCurrent ? 0 : route.over.indexOf(id) + 1;
  const pick = format({ ...route, view: null, parts: [], run: id, at: null, over: ticked(route.over, id, false) });
  return html`<tr class=${isCurrent ? "current" : ""}>
    <th scope="row" class="runname"><span>
      <input type="checkbox" aria-label="Lay ${name} ${stamp} over the curves" checked=${over} disabled=${isCurrent}
        onChange=${(event: Event & { readonly currentTarget: HTMLInputElement }) => go({ ...route, over: ticked(route.over, id, event.currentTarget.checked) })} />
      <i class="swatch run" style=${{ background: over ? runColour(place) : "transparent" }}></i>
      <a href=${pick} aria-current=${isCurrent ? "true" : undefined}>${name} <span class="muted stamp">${stamp}</span></a></span>
      ${state === "failed" && message !== null && message !== "" ? html`<small class="message">${message}</small>` : null}</th>
    ${columns.map((column) => html`<td key=${column.key} class=${column.isNumber ? "num" : ""}>${cellOf(row, column)}</td>`)}
  </tr>`;
};

interface HeadProps {
  readonly column: RunColumn;
  readonly order: RowOrder;
  readonly onOrder: (order: RowOrder) => void;
}

/** A key that may break behind its dots and underscores. */
const Breaking = ({ text }: { readonly text: string }): VNode =>
  html`${text.split(/(?<=[._])/).map((part, i) => html`${i === 0 ? null : html`<wbr />`}${part}`)}`;

const Head = ({ column, onOrder, order }: HeadProps): VNode => {
  const { isNumber, key, title } = column;
  const direction = order.key === key ? (order.isDescending ? "descending" : "ascending") : "none";
  const arrow = { ascending: " ↑", descending: " ↓", none: "" }[direction];
  return html`<th scope="col" class=${isNumber ? "num" : ""} aria-sort=${direction} title=${title}>
    <button type="button" class="quiet" onClick=${() => onOrder(ordered(order, column))}><${Breaking} text=${title} />${arrow}</button></th>`;
};

export const Runs = ({ api, go, reload, route, run, runs }: RunsProps): VNode => {
  const [order, setOrder] = useState<RowOrder>({ key: "started", isDescending: true });
  const [words, setWords] = useState("");
  const [all, setAll] = useState(false);
  const { error, value } = useLoad(api.comparison, [runs]);
  const rows = runs.map(
    (run): RunRow => ({ run, summary: value?.summaries[run.id], settings: value?.settings[run.id] ?? {} }),
  );
  const listed = found(rows, words);
  const settings = settingColumns(listed);
  const shown = all ? settings : settings.slice(0, FEW_SETTINGS);
  const columns = [...resultColumns, ...shown, ...lastColumns];
  const [name, ...others] = columns;
  const by = columns.find(({ key }) => key === order.key) ?? name!;
  const head = (column: RunColumn): VNode =>
    html`<${Head} key=${column.key} column=${column} order=${order} onOrder=${setOrder} />`;
  return html`<div class="runsview">
    <div class="viewhead"><h2>Runs</h2>
      <input type="search" placeholder="Find among ${runs.length}" aria-label="Find runs" value=${words}
        onInput=${(event: InputEvent & { readonly currentTarget: HTMLInputElement }) => setWords(event.currentTarget.value)} />
      <span class="muted">Pick one to look at; tick others to lay them over its curves.</span>
      <span class="spacer"></span>
      ${settings.length > FEW_SETTINGS ? html`<button type="button" aria-pressed=${all} onClick=${() => setAll(!all)}>${all ? "fewer columns" : `all ${count(settings.length, "key")} that differ`}</button>` : null}
      <button type="button" onClick=${reload}>Read the list again</button></div>
    ${error === null ? null : html`<p class="note warn">${error}</p>`}
    <div class="tablebox"><table>
      <thead><tr>${head(name!)}${others.map(head)}</tr></thead>
      <tbody>${sorted(listed, by, order.isDescending).map((row) => html`<${Row} key=${row.run.id} row=${row} columns=${others} go=${go} route=${route} run=${run} />`)}</tbody>
    </table></div>
    <p class="muted">Validation is the share of episodes that succeed, with its 95 % interval below. The columns between time and start are keys of the configuration in which the listed runs differ.</p>
  </div>`;
};
