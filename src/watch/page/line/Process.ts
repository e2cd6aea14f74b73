/** What the run yields and takes: tokens a second, cores, memory, and how late its event loop answers. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import type { LineView } from "../../Api.ts";
import { bytes, duration, number } from "../format.ts";

const fact = (name: string, value: string, title: string): VNode =>
  html`<div key=${name} title=${title}><dt>${name}</dt><dd>${value}</dd></div>`;

export const Process = ({ view }: { readonly view: LineView }): VNode => {
  const { process, tokensPerSecond } = view;
  return html`<section class="panel" aria-label="Throughput and process">
    <h3>Throughput</h3>
    <dl class="facts">
      ${fact("generated", `${number(tokensPerSecond.generated)} tok/s`, "Tokens sampled a second, over the last five seconds")}
      ${fact("trained", `${number(tokensPerSecond.trained)} tok/s`, "Tokens that took part in an update a second")}
      ${fact("in flight", `${view.groups.length} groups`, "Groups admitted and without an end yet")}
    </dl>
    <h3>Process</h3>
    ${
      process === null
        ? html`<p class="muted">Not measured at this moment.</p>`
        : html`<dl class="facts">
            ${fact("cores", number(process.cpu), "Cores kept busy by all threads of the run")}
            ${fact("memory", bytes(process.rssBytes), "Resident memory of the process")}
            ${fact("loop lag", duration(process.loopLagMs), "How late the main thread's event loop answered, 99th percentile")}
          </dl>`
    }
  </section>`;
};
