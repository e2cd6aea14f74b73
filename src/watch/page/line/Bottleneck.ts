/** What bounds the run's throughput, since when, what limits it, and what one more slot would bring. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import type { LineView } from "../../Api.ts";
import { clock, duration, percent } from "../format.ts";

export const Bottleneck = ({ view }: { readonly view: LineView }): VNode => {
  const { at, bottleneck } = view;
  if (bottleneck === null) {
    return html`<section class="panel" aria-label="Bottleneck"><h3>Bottleneck</h3>
      <p class="muted">No stage bounds the line at this moment, or too little has been measured to say.</p></section>`;
  }
  const { because, gain, limit, since, stage } = bottleneck;
  return html`<section class="panel" aria-label="Bottleneck">
    <h3>Bottleneck</h3>
    <p class="big"><b>${stage}</b> <span class="muted">since ${clock(since, at)}, ${duration(at - since)}</span></p>
    <p>${because}</p>
    <dl class="facts">
      <div><dt>limited by</dt><dd>${limit}</dd></div>
      <div title="Expected change of throughput with one more slot of this stage"><dt>one more slot</dt>
        <dd>${gain === null ? "cannot be added" : `${gain >= 0 ? "+" : ""}${percent(gain)}`}</dd></div>
    </dl>
  </section>`;
};
