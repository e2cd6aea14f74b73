/** The run's throughput and resources: tokens a second, groups in flight, cores, memory, and the lag of its event loop. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import type { LineView } from "../../Api.ts";
import { bytes, duration, number } from "../format.ts";

const fact = (name: string, value: string, unit: string, title: string): VNode =>
  html`<div key=${name} title=${title}><dt>${name}</dt><dd>${value}${unit === "" ? null : html` <small>${unit}</small>`}</dd></div>`;

export const Vitals = ({ view }: { readonly view: LineView }): VNode => {
  const { process, tokensPerSecond } = view;
  const missing = process === null ? ", not measured at this moment" : "";
  return html`<dl class="vitalfacts" aria-label="Throughput and process">
    ${fact("generated", number(tokensPerSecond.generated), "tok/s", "Tokens sampled a second, over the last five seconds")}
    ${fact("trained", number(tokensPerSecond.trained), "tok/s", "Tokens that took part in an update a second")}
    ${fact("in flight", number(view.groups.length), "groups", "Groups admitted and without an end yet")}
    ${fact("cores", number(process?.cpu), "", `Cores kept busy by all threads of the run${missing}`)}
    ${fact("memory", bytes(process?.rssBytes), "", `Resident memory of the process${missing}`)}
    ${fact("loop lag", duration(process?.loopLagMs), "", `How late the main thread's event loop answered, 99th percentile${missing}`)}
  </dl>`;
};
