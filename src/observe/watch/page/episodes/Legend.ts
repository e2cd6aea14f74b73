/** The legend of the tokens' colours: the choice of shading, and its scale with numbers. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { number } from "../format.ts";
import { labels, meanings, type Scale, type Shading } from "./shade.ts";

const stops = 24;

interface LegendProps {
  readonly available: readonly Shading[];
  readonly scale: Scale | null;
  readonly choose: (shading: Shading | null) => void;
}

const ends = ({ diverging, greatest, least, shading }: Scale): readonly string[] => {
  if (diverging) return [number(least), "0", number(greatest)];
  if (shading === "version") return [String(least), String(greatest)];
  return [number(least), number(greatest)];
};

/** The scale's colours from its least number to its greatest. */
const shares = ({ diverging, shading }: Scale): readonly number[] =>
  Array.from({ length: stops }, (_, at) => {
    const share = at / (stops - 1);
    if (diverging) return 2 * share - 1;
    return shading === "logprob" ? 1 - share : share;
  });

const Bar = ({ scale }: { readonly scale: Scale }) =>
  html`<span class=${`scale shade-${scale.shading}`}>
    <span class="scale-bar" aria-hidden="true">
      ${shares(scale).map((share, at) => html`<i key=${at} class=${share < 0 ? "token below" : "token"} style=${{ "--share": Math.abs(share).toFixed(3) }}></i>`)}
    </span>
    <span class="scale-ends">${ends(scale).map((end, at) => html`<span key=${at}>${end}</span>`)}</span>
  </span>`;

export const Legend = ({ available, choose, scale }: LegendProps): VNode =>
  html`<div class="legend">
    <label>Tokens shaded by
      <select value=${scale?.shading ?? ""} onChange=${(event: Event) => {
        const { value } = event.currentTarget as HTMLSelectElement;
        choose(available.find((one) => one === value) ?? null);
      }}>
        <option value="">nothing</option>
        ${available.map((one) => html`<option key=${one} value=${one}>${labels[one]}</option>`)}
      </select>
    </label>
    ${scale === null ? null : html`<${Bar} scale=${scale} /><span class="hint">${meanings[scale.shading]}</span>`}
  </div>` as VNode;
