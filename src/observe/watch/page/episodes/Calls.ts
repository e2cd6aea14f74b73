/** An agent's episode as a tree: a row for each call, indented by the branches that it lies in. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { EpisodeRecord } from "../../../../domain/EpisodeRecord.ts";
import { count, number } from "../format.ts";
import { type ShownMessage, shortText, shownMessages, toolCallText } from "./callText.ts";
import { countReplyTokens } from "./members.ts";
import { Plain } from "./Plain.ts";
import { partsOf, textParts } from "./reply.ts";
import type { Scale } from "./shade.ts";
import { Tokens } from "./Tokens.ts";
import { type CallRow, callRows } from "./tree.ts";

/** Rows that are open at first; a longer episode begins closed. */
const mostOpen = 16;

const Message = ({ kind, text, title }: ShownMessage) =>
  html`<div class=${`call-message from-${kind}`}><span class="call-title">${title}</span><pre>${text}</pre></div>`;

const signed = (value: number): string => (value > 0 ? `+${number(value)}` : number(value));

/** The head of a row: its number, its tool calls or the start of its reply, and its figures. */
const Head = ({ row: { call, isDiscarded, reply, turn } }: { readonly row: CallRow }) => {
  const said =
    call.calls.length === 0
      ? html`<span class="call-said">${shortText(textParts(reply)?.answer ?? reply)}</span>`
      : call.calls.map((each, at) => html`<code key=${at} class="tool-call">${shortText(toolCallText(each))}</code>`);
  return html`<summary>
    <b class="call-number">Call ${call.number + 1}</b>
    <span class="call-line">${said}</span>
    <span class="call-facts">
      ${isDiscarded ? html`<span class="fact" title="Repeated with the same messages, and the agent went on from another reply">not trained</span>` : null}
      ${turn.reward === 0 ? null : html`<span class=${`fact ${turn.reward > 0 ? "good" : "bad"}`}>reward ${signed(turn.reward)}</span>`}
      ${turn.parsed ? null : html`<span class="fact warn">unread tool call</span>`}
      ${turn.finish === "length" ? html`<span class="fact warn">cut at its most tokens</span>` : null}
      <span class="fact quiet">${count(countReplyTokens(turn), "token")}</span>
    </span>
  </summary>`;
};

interface RowProps {
  readonly row: CallRow;
  readonly scale: Scale | null;
  readonly isOpen: boolean;
  readonly setOpen: (isOpen: boolean) => void;
}

const Body = ({ row: { call, parent, reply, turn }, scale }: Pick<RowProps, "row" | "scale">) => {
  // The head of the row shows the others whole.
  const cut = call.calls.map(toolCallText).filter((text) => shortText(text) !== text);
  const said =
    turn.pieces.length > 0
      ? html`<${Tokens} turn=${turn} parts=${partsOf(reply, turn.pieces)} scale=${scale} />`
      : html`<${Plain} reply=${reply} />`;
  return html`<div class="call-body">
    <div class="call-shown">
      ${shownMessages(call, parent).map((message, at) => html`<${Message} key=${at} ...${message} />`)}
      ${call.tools === undefined ? null : html`<p class="hint">offers ${count(call.tools.length, "tool")}: ${call.tools.join(", ")}</p>`}
    </div>
    <div class="call-reply">
      ${said}
      ${cut.map((text, at) => html`<p key=${at} class="tool-calls"><code class="tool-call">${text}</code></p>`)}
      ${call.problems.map((problem, at) => html`<p key=${at} class="call-problem">${problem}</p>`)}
    </div>
  </div>`;
};

const Row = ({ isOpen, row, scale, setOpen }: RowProps) => {
  const { call, depth, heading, isDiscarded, parent } = row;
  const origin = parent === null ? "a root" : `goes on from call ${parent.number + 1}`;
  const label = `Call ${call.number + 1}, ${origin}${isDiscarded ? ", not trained" : ""}`;
  const above = depth - (isDiscarded ? 1 : 0);
  return html`${heading === null ? null : html`<li class="call-heading" style=${{ "--depth": above }}>${heading}</li>`}
  <li class=${`call ${isDiscarded ? "discarded" : ""}`} style=${{ "--depth": depth }} aria-label=${label}>
    <details open=${isOpen} onToggle=${(event: Event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
      <${Head} row=${row} />
      ${isOpen ? html`<${Body} row=${row} scale=${scale} />` : null}
    </details>
  </li>`;
};

interface CallsProps {
  readonly sequences: readonly EpisodeRecord[];
  readonly scale: Scale | null;
}

export const Calls = ({ scale, sequences }: CallsProps): VNode => {
  const rows = callRows(sequences);
  const openAtFirst = rows.length <= mostOpen ? rows.filter(({ isDiscarded }) => !isDiscarded) : [];
  const [open, setOpen] = useState<ReadonlySet<CallRow["call"]>>(() => new Set(openAtFirst.map(({ call }) => call)));
  const set = (call: CallRow["call"], isOpen: boolean): void =>
    setOpen((before) => {
      if (before.has(call) === isOpen) return before;
      const others = [...before].filter((each) => each !== call);
      return new Set(isOpen ? [...others, call] : others);
    });
  return html`<div class="calls">
    <p class="calls-bar">
      <button type="button" disabled=${open.size === rows.length} onClick=${() => setOpen(new Set(rows.map(({ call }) => call)))}>open all</button>
      <button type="button" disabled=${open.size === 0} onClick=${() => setOpen(new Set())}>close all</button>
    </p>
    <ol>${rows.map(
      (row, at) => html`<${Row} key=${at} row=${row} scale=${scale} isOpen=${open.has(row.call)}
        setOpen=${(isOpen: boolean) => set(row.call, isOpen)} />`,
    )}</ol>
  </div>` as VNode;
};
