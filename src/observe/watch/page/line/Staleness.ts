/** The age of the weights that sampled the tokens of the last windows. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import type { LineView } from "../../Api.ts";
import { count, number, percent } from "../format.ts";
import { barsOf, meanOf } from "./histogram.ts";

const BARS = 12;

export const Staleness = ({ view }: { readonly view: LineView }): VNode => {
  const bars = barsOf(view.staleness, BARS);
  const mean = meanOf(view.staleness);
  return html`<section class="stage staleness" aria-label="Staleness">
    <header><h3>staleness by token</h3></header>
    ${
      bars.length === 0
        ? html`<p class="muted">No window has been trained on yet.</p>`
        : html`<p class="work">${number(mean)} versions old on average, in the last windows</p>
            <div class="histogram">
              ${bars.map(
                ({ andMore, count: tokens, height, share, value }) =>
                  html`<div key=${value} class="column" title="${count(tokens, "token")} ${value}${andMore ? " or more" : ""} versions old, ${percent(share)}">
                    <span class="share">${share >= 0.005 ? percent(Math.round(share * 100) / 100) : ""}</span>
                    <i style=${{ height: `${Math.max(height * 100, share > 0 ? 2 : 0)}%` }}></i>
                    <span class="value">${value}${andMore ? "+" : ""}</span>
                  </div>`,
              )}
            </div>`
    }
  </section>`;
};
