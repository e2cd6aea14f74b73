/** One turn: the state before and after, the reply with its tokens, and its result. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import type { TurnRecord } from "../../../../domain/EpisodeRecord.ts";
import type { Drawing } from "../drawing/Drawing.ts";
import { Picture } from "../drawing/Picture.ts";
import { count, number } from "../format.ts";
import { countReplyTokens } from "./members.ts";
import { Plain } from "./Plain.ts";
import { partsOf } from "./reply.ts";
import type { Scale } from "./shade.ts";
import type { TurnStates } from "./states.ts";
import { Tokens } from "./Tokens.ts";

interface StateProps {
  readonly name: string;
  readonly text: string;
  readonly drawing: Drawing | null;
  readonly before?: Drawing | null;
}

/** The state that a turn showed: its picture, with the text one click away; the text alone where there is no picture. */
const State = ({ before = null, drawing, name, text }: StateProps): VNode => {
  const words = html`<pre class="state-text">${text}</pre>`;
  if (drawing === null) return html`<figure class="state"><figcaption>${name}</figcaption>${words}</figure>` as VNode;
  return html`<figure class="state">
    <figcaption>${name}</figcaption>
    <${Picture} drawing=${drawing} before=${before} />
    <details><summary>text</summary>${words}</details>
  </figure>` as VNode;
};

interface TurnProps extends TurnStates {
  readonly title: string;
  readonly turn: TurnRecord;
  readonly reply: string;
  readonly scale: Scale | null;
}

/** Executed actions, then those that were named only. */
const Actions = ({ turn: { actions, executed } }: { readonly turn: TurnRecord }) =>
  actions.length === 0
    ? html`<span class="chip none">no action</span>`
    : html`${actions.map((action, at) =>
        at < executed
          ? html`<span key=${at} class="chip">${action}</span>`
          : html`<span key=${at} class="chip unused" title="named, not carried out">${action}</span>`,
      )}`;

const signed = (value: number): string => (value > 0 ? `+${number(value)}` : number(value));

const Facts = ({ turn }: { readonly turn: TurnRecord }) => {
  const numbers = Object.entries(turn.info);
  return html`<div class="facts">
    <${Actions} turn=${turn} />
    <span class=${`fact ${turn.reward > 0 ? "good" : turn.reward < 0 ? "bad" : ""}`}>reward ${signed(turn.reward)}</span>
    ${turn.penalty === 0 ? null : html`<span class="fact bad">penalty ${signed(turn.penalty)}</span>`}
    ${turn.parsed ? null : html`<span class="fact warn">not in the form asked for</span>`}
    ${turn.finish === "length" ? html`<span class="fact warn">cut at its most tokens</span>` : null}
    ${turn.finish === "filtered" ? html`<span class="fact warn">kept back by a filter</span>` : null}
    <span class="fact quiet">${turn.counted?.reply === null ? "tokens not counted" : count(countReplyTokens(turn), "token")}</span>
    ${numbers.map(([name, value]) => html`<span key=${name} class="fact quiet">${name} ${number(value)}</span>`)}
  </div>`;
};

export const Turn = ({ after, before, reply, scale, title, turn }: TurnProps): VNode => {
  const pieces = turn.pieces ?? [];
  const body =
    pieces.length > 0
      ? html`<${Tokens} turn=${turn} parts=${partsOf(reply, pieces)} scale=${scale} />`
      : html`<${Plain} reply=${reply} />`;
  return html`<section class="turn" aria-label=${title}>
    <h4>${title}</h4>
    <div class="turn-body">
      <div class="states">
        <${State} name="before" text=${before.text} drawing=${before.drawing} />
        ${after === null ? null : html`<${State} name="after" text=${after.text} drawing=${after.drawing} before=${before.drawing} />`}
      </div>
      <div class="said">
        ${body}
        <${Facts} turn=${turn} />
      </div>
    </div>
  </section>` as VNode;
};
