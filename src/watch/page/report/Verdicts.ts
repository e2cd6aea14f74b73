/** What the filter made of a run's windows over time: the share of groups of each verdict, and the least score kept. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import type { WindowView } from "../../Api.ts";
import { count, number, percent } from "../format.ts";

const kinds = ["kept", "rule", "zero", "failed"] as const;
const width = 720;
const height = 96;

const shares = ({ groups }: WindowView): readonly number[] =>
  kinds.map((kind) =>
    groups.length === 0 ? 0 : groups.filter(({ verdict }) => verdict === kind).length / groups.length,
  );

const Column = ({ at, each, view }: { readonly at: number; readonly each: number; readonly view: WindowView }) => {
  let top = 0;
  const tall = shares(view).map((share, kind) => {
    const y = top;
    top += share * height;
    return html`<rect key=${kind} class=${`verdict-area-${kinds[kind]}`} x=${at * each} y=${y} width=${Math.max(0.5, each - (each > 4 ? 1 : 0))} height=${share * height} />`;
  });
  const text = kinds.map((kind, index) => `${kind} ${percent(shares(view)[index])}`).join(", ");
  const cut = view.cut === null ? "" : `; cut ${number(view.cut)}`;
  return html`<g><title>step ${view.step}: ${text}${cut}</title>${tall}</g>`;
};

export const Verdicts = ({ windows }: { readonly windows: readonly WindowView[] }): VNode | null => {
  if (windows.length === 0) return null;
  const totals = kinds.map((kind) =>
    windows.reduce((sum, { groups }) => sum + groups.filter(({ verdict }) => verdict === kind).length, 0),
  );
  const all = totals.reduce((sum, one) => sum + one, 0);
  const [first, last] = [windows[0]?.step, windows.at(-1)?.step];
  return html`<figure class="verdicts">
    <figcaption>${kinds.map((kind, at) => html`<span key=${kind} class=${`key verdict-key-${kind}`}>${kind} ${percent(all === 0 ? 0 : (totals[at] ?? 0) / all)}</span>`)}
      <span class="hint">${count(windows.length, "window")} shown, steps ${first} to ${last}</span></figcaption>
    <svg viewBox=${`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label="Verdicts over steps">
      ${windows.map((view, at) => html`<${Column} key=${view.window} view=${view} at=${at} each=${width / windows.length} />`)}
    </svg>
  </figure>` as VNode;
};
