/** The levels of training's presets: how often each is played, and the parts of its weight. Shown where a run has a task sampler. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import type { Curves } from "../../Api.ts";
import { number, percent } from "../format.ts";

const columns = ["share", "probability", "success", "episodes", "mixed", "cost"] as const;
type Column = (typeof columns)[number];

/** A level with the newest value of each column; null where it was not measured. */
export type LevelRow = Readonly<Record<Column, number | null>> & { readonly preset: string; readonly level: string };

const form = new RegExp(`^sampler/(.+):([^:/]+)/(${columns.join("|")})$`);

/** The metrics that the tables are made of. */
export const levelMetrics = (names: readonly string[]): readonly string[] => names.filter((name) => form.test(name));

const isColumn = (name: string): name is Column => columns.some((column) => column === name);

/** The rows by preset, with their values in the last step that is no later than `step`. */
export const levelsByPreset = (
  { series, steps }: Pick<Curves, "series" | "steps">,
  step: number,
): ReadonlyMap<string, readonly LevelRow[]> => {
  const end = steps.findLastIndex((each) => each <= step) + 1;
  const rows = new Map<string, LevelRow>();
  for (const { mean, name } of series) {
    const [, preset = "", level = "", column = ""] = form.exec(name) ?? [];
    if (!isColumn(column)) continue;
    const key = `${preset}:${level}`;
    const empty = { share: null, probability: null, success: null, episodes: null, mixed: null, cost: null };
    const value = mean.slice(0, end).findLast((each) => each !== null) ?? null;
    rows.set(key, { ...(rows.get(key) ?? { preset, level, ...empty }), [column]: value });
  }
  const sorted = [...rows.values()].toSorted((a, b) => a.level.localeCompare(b.level, "en", { numeric: true }));
  return Map.groupBy(sorted, ({ preset }) => preset);
};

const Row = ({ row }: { readonly row: LevelRow }): VNode => {
  const { cost, episodes, level, mixed, probability, share, success } = row;
  return html`<tr>
    <th scope="row">${level}</th>
    <td class="num">${percent(share)}</td>
    <td class="num">${percent(probability)}</td>
    <td class="scorecell"><i class="scorebar kept" style=${{ width: `${100 * Math.max(0, probability ?? 0)}%` }}></i></td>
    <td class="num">${percent(success)}</td>
    <td class="num">${number(episodes)}</td>
    <td class="num">${percent(mixed)}</td>
    <td class="num">${number(cost)}</td>
  </tr>`;
};

export const Levels = ({ curves, step }: { readonly curves: Curves; readonly step: number }): VNode => {
  const presets = [...levelsByPreset(curves, step)];
  return html`${presets.map(
    ([preset, rows]) => html`<section key=${preset} class="panel windowpanel levels" aria-label="Levels of ${preset}">
      <header><h3>Levels of ${preset}</h3><span class="muted">what training plays, and why</span></header>
      <div class="windowtable"><table>
        <thead><tr>
          <th scope="col">level</th>
          <th scope="col" class="num" title="Groups of the last window that played it">share</th>
          <th scope="col" class="num" title="Probability that the next group plays it">probability</th>
          <th scope="col"></th>
          <th scope="col" class="num" title="Posterior mean of success">success</th>
          <th scope="col" class="num" title="Episodes that the posterior remembers; older ones count less">episodes</th>
          <th scope="col" class="num" title="Expected share of its groups with both successes and failures">mixed groups</th>
          <th scope="col" class="num" title="Tokens of an episode, relative to the mean over the levels">cost</th>
        </tr></thead>
        <tbody>${rows.map((row) => html`<${Row} key=${row.level} row=${row} />`)}</tbody>
      </table></div>
      <p class="muted small">By difficulty, a level is drawn the more often the more of its groups are expected to be mixed, and the less an episode of it
        costs; a part of all groups is spread evenly.</p>
    </section>`,
  )}`;
};
