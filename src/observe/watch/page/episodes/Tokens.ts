/**
 * A reply's tokens, shaded. The numbers of the token under the pointer stand below, or of the one that the arrow keys chose. Texts are
 * text nodes and nothing else.
 */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { TurnRecord } from "../../../../domain/EpisodeRecord.ts";
import type { ReplyParts } from "./reply.ts";
import { labels, type Scale, shadings, strength, valuesOf } from "./shade.ts";

/** A number as it is recorded, to four digits after the point. */
const exact = (value: number): string => String(Math.round(value * 1e4) / 1e4);

const numbersOf = (turn: TurnRecord, at: number): readonly (readonly [string, string])[] => [
  ["token", `${at + 1} of ${turn.ids.length}`],
  ["id", String(turn.ids[at])],
  ...shadings.flatMap((shading) => {
    const value = valuesOf(turn, shading)?.[at];
    if (value === undefined) return [];
    const text = shading === "logprob" ? `${exact(value)} (${(100 * Math.exp(value)).toPrecision(3)} %)` : exact(value);
    return [[labels[shading], text] as const];
  }),
];

/** White space that would not show, shown. */
const visible = (piece: string): string => piece.replaceAll("\n", "↵\n").replaceAll("\t", "⇥");

interface TokenProps {
  readonly piece: string;
  readonly at: number;
  readonly share: number;
  readonly dim: boolean;
  readonly chosen: boolean;
}

const Token = ({ at, chosen, dim, piece, share }: TokenProps) => {
  const kind = `token ${share < 0 ? "below" : ""} ${dim ? "markup" : ""} ${chosen ? "chosen" : ""} ${piece === "" ? "silent" : ""}`;
  return html`<span class=${kind} data-at=${at} style=${{ "--share": Math.abs(share).toFixed(3) }}>${piece === "" ? "∅" : visible(piece)}</span>`;
};

/** Index of the token that an event came from; null where it came from none. */
const tokenAt = (event: Event): number | null => {
  const at = event.target instanceof HTMLElement ? Number(event.target.dataset.at ?? Number.NaN) : Number.NaN;
  return Number.isInteger(at) ? at : null;
};

/** The token that a key leads to; null where the key leads nowhere. */
const step = (key: string, at: number | null, count: number): number | null => {
  switch (key) {
    case "ArrowRight":
      return Math.min(count - 1, (at ?? -1) + 1);
    case "ArrowLeft":
      return Math.max(0, (at ?? 1) - 1);
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return null;
  }
};

interface TokensProps {
  readonly turn: TurnRecord;
  readonly parts: ReplyParts;
  /** Null: no shading. */
  readonly scale: Scale | null;
}

export const Tokens = ({ parts, scale, turn }: TokensProps): VNode => {
  const [chosen, choose] = useState<number | null>(null);
  const values = scale === null ? null : valuesOf(turn, scale.shading);
  const count = turn.pieces.length;
  const tokens = turn.pieces.map((piece, at) => {
    const value = values?.[at];
    const share = scale === null || value === undefined ? 0 : strength(scale, value);
    const dim = parts.markup[at] === true;
    return html`<${Token} key=${at} piece=${piece} at=${at} share=${share} dim=${dim} chosen=${chosen === at} />`;
  });
  const split = parts.answerFrom;
  const half = (name: string, shown: readonly unknown[]) =>
    html`<div class=${`half half-${name.toLowerCase()}`}><span class="half-name">${name}</span><p class="text">${shown}</p></div>`;
  const halves =
    split === null
      ? half("Reply", tokens)
      : [
          parts.thinks ? half("Thought", tokens.slice(0, split)) : null,
          half("Answer", parts.thinks ? tokens.slice(split) : tokens),
        ];
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = step(event.key, chosen, count);
    if (next === null || count === 0) return;
    event.preventDefault();
    event.stopPropagation();
    choose(next);
  };
  return html`<div class=${`tokens shade-${scale?.shading ?? "none"}`} tabindex="0" role="group" aria-label="Tokens of the reply; the arrow keys choose one"
    onMouseOver=${(event: Event) => choose(tokenAt(event) ?? chosen)} onKeyDown=${onKeyDown}>
    ${halves}
    <${Numbers} turn=${turn} at=${chosen} />
  </div>` as VNode;
};

const Numbers = ({ at, turn }: { readonly turn: TurnRecord; readonly at: number | null }) => {
  if (at === null || at >= turn.ids.length) {
    return html`<p class="numbers hint">Point at a token, or use the arrow keys, for its numbers.</p>`;
  }
  return html`<p class="numbers" aria-live="polite">
    <code>${JSON.stringify(turn.pieces[at] ?? "")}</code>
    ${numbersOf(turn, at).map(([name, value]) => html`<span key=${name}><b>${name}</b> ${value}</span>`)}
  </p>`;
};
