/** The bottleneck of the run's throughput: since when, its limit, and the gain by one more slot. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import type { LineView } from "../../Api.ts";
import { clock, duration, percent } from "../format.ts";

const gainOf = (gain: number | null): string =>
  gain === null ? "No slot can be added." : `One more slot: ${gain >= 0 ? "+" : ""}${percent(gain)} throughput.`;

export const Bottleneck = ({ view }: { readonly view: LineView }): VNode => {
  const { at, bottleneck } = view;
  if (bottleneck === null) {
    return html`<section class="bottleneck" aria-label="Bottleneck"><h3>No bottleneck</h3>
      <p class="muted">At this moment nothing bounds the line, or too little has been measured to tell.</p></section>`;
  }
  const { atLeast = false, because, gain, limit, since, stage } = bottleneck;
  return html`<section class="bottleneck" aria-label="Bottleneck">
    <h3><span class="badge warn">bottleneck</span> ${stage} <span class="muted">${atLeast ? `for ${duration(at - since)} or longer` : `since ${clock(since, at)}, ${duration(at - since)}`}</span></h3>
    <p>${because} <span class="muted">Limit: ${limit}. ${gainOf(gain)}</span></p>
  </section>`;
};
