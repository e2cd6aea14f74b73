/** One stage as a card: its slots, its queue, how its time is spent, and the tray in which its groups lie. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import type { BottleneckView, SettingView, StageView } from "../../Api.ts";
import type { Controls } from "../controls/useControls.ts";
import { duration, percent } from "../format.ts";
import { workOf } from "./about.ts";
import { queueOf, slotsOf } from "./cells.ts";
import { SlotStepper } from "./SlotStepper.ts";
import type { Tally } from "./trays.ts";

const CELLS = 32;
const DOTS = 16;

const Slots = ({ stage }: { readonly stage: StageView }): VNode => {
  const { cells, counts } = slotsOf(stage, CELLS);
  const label = `${counts.busy} busy, ${counts.blocked} blocked, ${counts.free} free`;
  const drawn =
    cells !== null
      ? cells.map((slot, i) => html`<i key=${i} class="cell ${slot}"></i>`)
      : (["busy", "blocked", "free"] as const).map(
          (slot) => html`<i key=${slot} class="bar ${slot}" style=${{ flexGrow: counts[slot] }}></i>`,
        );
  return html`<div class="slots" role="img" aria-label=${label} title=${label}>${drawn}</div>`;
};

const Queue = ({ stage }: { readonly stage: StageView }): VNode => {
  const { empty, full, more } = queueOf(stage, DOTS);
  const text = stage.capacity > 0 ? `${stage.queue} of ${stage.capacity}` : `${stage.queue} waiting`;
  const dots = Array.from(
    { length: full + empty },
    (_, i) => html`<i key=${i} class=${i < full ? "dot full" : "dot"}></i>`,
  );
  return html`<div class="queue" title="Queue: ${text}">
    <span class="dots" aria-hidden="true">${dots}${more > 0 ? html`<b>+${more}</b>` : null}</span>
    <span class="muted">${text}</span>
  </div>`;
};

const Shares = ({ shares }: Pick<StageView, "shares">): VNode => {
  const parts = [
    ["busy", shares.busy],
    ["blocked", shares.blocked],
    ["starved", shares.starved],
  ] as const;
  const label = parts.map(([name, share]) => `${name} ${percent(share)}`).join(", ");
  return html`<div title="Of the last five seconds: ${label}">
    <div class="sharebar" role="img" aria-label=${label}>
      ${parts.map(([name, share]) => html`<i key=${name} class=${name} style=${{ flexGrow: Math.max(0, share) }}></i>`)}
    </div>
    <div class="sharenumbers">
      ${parts.map(
        ([name, share]) =>
          html`<span key=${name} class=${share < 0.005 ? "muted" : ""}><i class="swatch ${name}"></i>${percent(Math.round(share * 100) / 100)}</span>`,
      )}
    </div>
  </div>`;
};

export interface StageCardProps {
  readonly stage: StageView;
  readonly bottleneck: BottleneckView | null;
  readonly controls: Controls;
  /** The learner's lanes; null of other stages, and where their number cannot be set. */
  readonly lanes: SettingView | null;
  /** Groups in the tray; null where the stage has none. */
  readonly groups: { readonly count: number; readonly hidden: number; readonly tally: Tally } | null;
  readonly trayRef?: (element: HTMLElement | null) => void;
}

export const StageCard = ({ bottleneck, controls, groups, lanes, stage, trayRef }: StageCardProps): VNode => {
  const bounds = bottleneck?.stage === stage.name;
  return html`<section class="stage ${stage.kind} ${bounds ? "bounds" : ""}" aria-label="Stage ${stage.name}" data-stage=${stage.name}>
    ${bounds ? html`<span class="badge warn" title=${bottleneck.because}>bottleneck</span>` : null}
    <header>
      <h3>${stage.name}</h3>
      ${stage.adjustable ? html`<${SlotStepper} stage=${stage} controls=${controls} />` : null}
    </header>
    <p class="work">${workOf(stage.name)}</p>
    ${
      groups === null
        ? null
        : html`<div class="tray"><div ref=${trayRef}></div></div>
            <div class="traycount muted" title=${tallyText(groups.tally)}>
              ${groups.count} ${groups.count === 1 ? "group" : "groups"}${groups.hidden > 0 ? `, ${groups.hidden} not drawn` : ""}
            </div>`
    }
    <div class="row"><span class="label">slots</span><${Slots} stage=${stage} /><span class="muted">${stage.concurrency}</span>
    </div>
    ${
      lanes === null
        ? null
        : html`<div class="row" title="Threads that share the passes of an update; a change holds from the next window on">
            <span class="label">lanes</span><${SlotStepper} stage=${lanes} controls=${controls} unit="lane" /><span class="muted">of ${lanes.most}</span>
          </div>`
    }
    <div class="row"><span class="label">queue</span><${Queue} stage=${stage} /></div>
    <${Shares} shares=${stage.shares} />
    <dl class="times">
      <div title="Mean wait of an item before its turn, over the last minute"><dt>wait</dt><dd>${duration(stage.waitMs)}</dd></div>
      <div title="Mean work on an item, over the last minute"><dt>service</dt><dd>${duration(stage.serviceMs)}</dd></div>
      <div title="Items passed on since the run began"><dt>items</dt><dd>${stage.items.toLocaleString("en-US")}</dd></div>
    </dl>
  </section>`;
};

const tallyText = ({ failed, kept, open, out }: Tally): string =>
  `${open} undecided, ${kept} kept, ${out} left out, ${failed} failed`;
