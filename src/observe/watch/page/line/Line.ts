/** The line as it works: its stages from left to right, services below, groups as marks that move along, and what bounds it. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import type { LineView, StageView } from "../../Api.ts";
import type { Controls } from "../controls/useControls.ts";
import { bytes, duration, number } from "../format.ts";
import { serviceOrder } from "./about.ts";
import { Bottleneck } from "./Bottleneck.ts";
import { Servers } from "./Servers.ts";
import { StageCard } from "./StageCard.ts";
import { Staleness } from "./Staleness.ts";
import { byPlace, type Filled, fill, type GroupMark, tally } from "./trays.ts";
import { useTrays } from "./useTrays.ts";
import { Weights } from "./Weights.ts";

const fact = (name: string, value: string, unit: string, title: string): VNode =>
  html`<div key=${name} title=${title}><dt>${name}</dt><dd>${value}${unit === "" ? null : html` <small>${unit}</small>`}</dd></div>`;

/** The run's throughput and resources: tokens a second, groups in flight, cores, memory, and the lag of its event loop. */
const Vitals = ({ view }: { readonly view: LineView }): VNode => {
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

const markTitle = ({ group, look }: GroupMark, now: number): string => {
  const fate = { open: "undecided", kept: "kept", out: "left out", failed: "failed" }[look];
  return `Group ${group.group}, window ${group.window}: ${fate}, in ${group.place} for ${duration(now - group.since)}, admitted ${duration(now - group.admitted)} ago`;
};

const Marks = ({ filled, now }: { readonly filled: readonly Filled[]; readonly now: number }): VNode => {
  const marks = filled.flatMap(({ marks }) => marks).toSorted((a, b) => a.group.group - b.group.group);
  return html`<div class="marks" aria-hidden="true">
    ${marks.map(
      (mark) =>
        html`<i
          key=${mark.group.group}
          class="mark ${mark.look}"
          title=${markTitle(mark, now)}
          style=${{ transform: `translate(${mark.x}px, ${mark.y}px)`, width: `${mark.size}px`, height: `${mark.size}px` }}
        ></i>`,
    )}
  </div>`;
};

const Legend = (): VNode => html`<div class="linelegend" aria-hidden="true">
  <span><i class="swatch busy"></i>busy</span><span><i class="swatch blocked"></i>blocked</span><span><i class="swatch starved"></i>starved or free</span>
  <span class="gap"></span>
  <span><i class="mark still open"></i>group, undecided</span><span><i class="mark still kept"></i>kept</span>
  <span><i class="mark still out"></i>left out</span><span><i class="mark still failed"></i>failed</span>
</div>`;

const States = ({ view }: { readonly view: LineView }): VNode => {
  const { paused, validating } = view;
  return html`<div class="linestates" role="status">
    ${paused ? html`<p class="note warn"><b>Admission is paused.</b> What is in flight goes on; no new group starts.</p>` : null}
    ${
      validating === null
        ? null
        : html`<p class="note">Validating after step ${validating.step}: ${validating.done} of ${validating.of} groups
            <progress max=${validating.of} value=${validating.done} aria-label="Validation"></progress></p>`
    }
  </div>`;
};

const Stages = ({ controls, view }: { readonly view: LineView; readonly controls: Controls }): VNode => {
  const { lineRef, refOf, trays } = useTrays();
  const places = useMemo(() => byPlace(view.groups), [view.groups]);
  const filled = new Map(
    view.stages.flatMap(({ name }) => {
      const tray = trays.get(name);
      const groups = [...places].find(([place]) => place === name)?.[1] ?? [];
      return tray === undefined ? [] : [[name, fill(groups, tray)] as const];
    }),
  );
  const lanes = view.settings?.find(({ name }) => name === "lanes") ?? null;
  const card = (stage: StageView): VNode => {
    const groups = [...places].find(([place]) => place === stage.name)?.[1] ?? [];
    const hidden = filled.get(stage.name)?.hidden ?? 0;
    const tray = stage.kind === "flow" ? { count: groups.length, hidden, tally: tally(groups) } : null;
    return html`<${StageCard} key=${stage.name} stage=${stage} bottleneck=${view.bottleneck} controls=${controls} lanes=${stage.name === "learn" ? lanes : null} groups=${tray} trayRef=${refOf(stage.name)} />`;
  };
  const services = view.stages
    .filter(({ kind }) => kind === "service")
    .toSorted((a, b) => serviceOrder(a.name) - serviceOrder(b.name));
  return html`<div class="line" ref=${lineRef}>
    <div class="flowrow">${view.stages.filter(({ kind }) => kind === "flow").map(card)}</div>
    <div class="services">${services.map(card)}<${Weights} view=${view} /><${Staleness} view=${view} />${
      view.servers === undefined ? null : html`<${Servers} servers=${view.servers} at=${view.at} />`
    }</div>
    <${Marks} filled=${[...filled.values()]} now=${view.at} />
  </div>`;
};

export const Line = ({
  controls,
  view,
}: {
  readonly view: LineView;
  readonly controls: Controls;
}): VNode => html`<div class="lineview">
  <${States} view=${view} />
  <div class="panel vitals"><${Bottleneck} view=${view} /><${Vitals} view=${view} /></div>
  <${Stages} view=${view} controls=${controls} />
  <${Legend} />
</div>`;
