/**
 * The leaderboard as one HTML text that needs no network and no script: a table for each benchmark, by success. A benchmark is an environment preset
 * and the texts around its states; where either differs, results are in different tables. Invariant: no text of the data can be markup.
 */
import type { Interval } from "../../domain/intervals.ts";
import type { Summary } from "./Summary.ts";

export interface LeaderboardEntry {
  readonly summary: Summary;
  /** The folder it was read from, as the table shows it. */
  readonly origin: string;
}

/** The tables: entries of one benchmark, the best first. Those without an episode are in none. */
export const benchmarks = (entries: readonly LeaderboardEntry[]): readonly (readonly LeaderboardEntry[])[] => {
  const share = ({ summary }: LeaderboardEntry): number => summary.success?.mean ?? -1;
  const finished = entries.filter(({ summary }) => summary.finished > 0);
  const groups = Map.groupBy(finished, ({ summary: { tags, versions } }) =>
    JSON.stringify([[...tags].sort(), versions.environment, versions.template]),
  );
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, rows]) => rows.toSorted((a, b) => share(b) - share(a) || (a.summary.name < b.summary.name ? -1 : 1)));
};

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

const percent = (value: number): string => (100 * value).toFixed(1);

const style = `
:root { color-scheme: light dark; --ink: light-dark(#1a1d21, #e6e8ea); --dim: light-dark(#5c6570, #9aa4ae);
  --ground: light-dark(#fbfbfa, #15181b); --line: light-dark(#dcdfe2, #2c3238); --bar: light-dark(#3b6ea8, #7fb0e6);
  --spread: light-dark(#3b6ea844, #7fb0e655); --track: light-dark(#eceeef, #20252a); }
body { margin: 2.5rem auto; max-width: 68rem; padding: 0 1.25rem; color: var(--ink); background: var(--ground);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; font-weight: 650; margin: 0 0 .25rem; }
h2 { font-size: 1.1rem; font-weight: 650; margin: 2.5rem 0 .1rem; }
p, .version { color: var(--dim); margin: 0 0 .75rem; }
code { font: .85em ui-monospace, monospace; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--dim); font-size: .85em; }
th, td { padding: .4rem .75rem .4rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
.number { text-align: right; }
.model { white-space: normal; min-width: 12rem; }
.model small { color: var(--dim); display: block; }
.bar { position: relative; width: 9rem; height: .7rem; background: var(--track); border-radius: 2px; }
.bar i, .bar b { position: absolute; top: 0; bottom: 0; border-radius: 2px; }
.bar b { left: 0; background: var(--bar); }
.bar i { background: var(--spread); outline: 1px solid var(--bar); outline-offset: -1px; }
`;

/** A bar of the share with its interval over it. */
const bar = ({ high, low, mean }: Interval): string =>
  `<div class="bar" role="img" aria-label="${percent(mean)} %"><b style="width:${percent(mean)}%"></b>` +
  `<i style="left:${percent(low)}%;width:${percent(high - low)}%"></i></div>`;

const shareCells = (interval: Interval | null): string =>
  interval === null
    ? '<td class="number">-</td><td></td><td></td>'
    : `<td class="number">${percent(interval.mean)}</td><td>${bar(interval)}</td>` +
      `<td>${percent(interval.low)} to ${percent(interval.high)}</td>`;

const numberCell = (text: string): string => `<td class="number">${text}</td>`;

const perEpisode = ({ finished, tokens }: Summary): string =>
  finished === 0 || tokens.uncounted > 0 ? "-" : ((tokens.prompt + tokens.reply) / finished).toFixed(0);

const day = (millis: number): string => new Date(millis).toISOString().slice(0, 10);

/** A checkpoint by the last parts of its path: where it lies on a machine is nobody else's business. */
const modelText = ({ kind, model, name }: Summary): string => {
  if (model === name) return "";
  return kind === "checkpoint" ? model.split(/[/\\]/).slice(-3).join("/") : model;
};

const row = ({ origin, summary }: LeaderboardEntry, place: number): string => {
  const { cost_usd, episodes, kind, name, planned, return: returned, success, temperature, written } = summary;
  const part = episodes < planned ? ` of ${planned}` : "";
  const about = [kind, modelText(summary), `temperature ${temperature}`, origin].filter((text) => text !== "");
  return [
    "<tr>",
    numberCell(String(place)),
    `<td class="model">${escaped(name)}<small>${escaped(about.join(" · "))}</small></td>`,
    shareCells(success),
    numberCell(returned === null ? "-" : returned.mean.toFixed(2)),
    numberCell(`${episodes}${part}`),
    numberCell(perEpisode(summary)),
    numberCell(cost_usd === undefined ? "-" : cost_usd.toFixed(2)),
    `<td>${day(written)}</td>`,
    "</tr>",
  ].join("");
};

const head = ["", "Model", "Success %", "", "95 %", "Return", "Episodes", "Tokens per episode", "USD", "Date"];
const ofNumbers = new Set(["", "Success %", "Return", "Episodes", "Tokens per episode", "USD"]);

const tableOf = (entries: readonly LeaderboardEntry[]): string => {
  const [first] = entries;
  if (first === undefined) return "";
  const { tags, template, versions } = first.summary;
  const heads = head.map((name) => `<th${ofNumbers.has(name) ? ' class="number"' : ""}>${name}</th>`);
  return [
    `<h2>${escaped(tags.join(", "))}</h2>`,
    `<div class="version">Environment <code>${escaped(versions.environment)}</code>, template ${escaped(template)} <code>${escaped(versions.template)}</code></div>`,
    `<div class="scroll"><table><thead><tr>${heads.join("")}</tr></thead><tbody>`,
    ...entries.map((entry, index) => row(entry, index + 1)),
    "</tbody></table></div>",
  ].join("\n");
};

/** `written` in Unix milliseconds. */
export const leaderboard = (entries: readonly LeaderboardEntry[], title: string, written: number): string => {
  const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
  return [
    "<!doctype html>",
    '<html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${escaped(policy)}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escaped(title)}</title><style>${style}</style></head><body>`,
    `<h1>${escaped(title)}</h1>`,
    `<p>${benchmarks(entries).flat().length} results, ${day(written)}. Success with its 95 % interval. Results are in one table where the environment preset and every text around its states are the same.</p>`,
    ...benchmarks(entries).map(tableOf),
    "</body></html>",
    "",
  ].join("\n");
};
