/** The recorded episodes that a search finds, newest first, a page at a time. Arrow keys or j and k choose a row, Enter opens its group. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { EpisodeCard, EpisodePage } from "../../Api.ts";
import { saying } from "../filter/windows.ts";
import { count, number } from "../format.ts";
import { pageSize, type Search } from "./Search.ts";

interface ListProps {
  readonly page: EpisodePage;
  readonly search: Search;
  readonly change: (change: Partial<Search>) => void;
  /** Address of an episode's group. */
  readonly address: (card: EpisodeCard) => string;
}

const Row = ({
  address,
  card,
  chosen,
}: {
  readonly card: EpisodeCard;
  readonly address: string;
  readonly chosen: boolean;
}) => {
  const { group, member, outcome, reward, split, step, success, tag, tokens, turns, verdict } = card;
  const open = (event: Event): void => {
    // Text that is being selected is no click, and the link opens itself, in a tab of its own if asked to.
    if (event.target instanceof HTMLAnchorElement || getSelection()?.isCollapsed === false) return;
    location.hash = address;
  };
  return html`<tr class=${chosen ? "chosen" : ""} onClick=${open}>
    <td><a href=${address} tabindex=${chosen ? 0 : -1}>${step}</a></td>
    <td>${split === "val" ? "validation" : "training"}</td>
    <td>${tag}</td>
    <td class="num">${group}.${member}</td>
    <td><span class=${`fact ${success ? "good" : "bad"}`}>${success ? "success" : "no"}</span></td>
    <td class="num">${number(reward)}</td>
    <td class="num">${turns}</td>
    <td class="num">${tokens}</td>
    <td>${verdict === null ? "" : html`<span class=${`fact verdict verdict-${verdict}`}>${saying[verdict]}</span>`}</td>
    <td class="hint">${outcome}</td>
  </tr>`;
};

const Pager = ({ change, page: { episodes, total }, search }: Pick<ListProps, "change" | "page" | "search">) => {
  const { offset } = search;
  const last = offset + episodes.length;
  return html`<div class="pager">
    <button type="button" disabled=${offset === 0} onClick=${() => change({ offset: Math.max(0, offset - pageSize) })}>newer</button>
    <span>${total === 0 ? "no episodes" : `${offset + 1}–${last} of ${count(total, "episode")}`}</span>
    <button type="button" disabled=${last >= total} onClick=${() => change({ offset: offset + pageSize })}>older</button>
  </div>`;
};

const heads = ["Step", "Split", "Tag", "Group", "Success", "Reward", "Turns", "Tokens", "Verdict", "End"];
const numbers: ReadonlySet<string> = new Set(["Group", "Reward", "Turns", "Tokens"]);

const steps: Readonly<Record<string, number>> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };

export const List = ({ address, change, page, search }: ListProps): VNode => {
  const [chosen, choose] = useState(0);
  const table = useRef<HTMLTableElement>(null);
  const { episodes } = page;
  const [newest] = episodes;
  useEffect(() => choose(0), [search.offset, newest?.step, newest?.group]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = steps[event.key];
    if (by === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    const next = Math.max(0, Math.min(episodes.length - 1, chosen + by));
    event.preventDefault();
    choose(next);
    table.current?.querySelectorAll<HTMLElement>("tbody a")[next]?.focus();
  };
  return html`<div class="list">
    <div class="scroll"><table ref=${table} onKeyDown=${onKeyDown}>
      <thead><tr>${heads.map((head) => html`<th key=${head} scope="col" class=${numbers.has(head) ? "num" : ""}>${head}</th>`)}</tr></thead>
      <tbody>${episodes.map(
        (card, at) =>
          html`<${Row} key=${`${card.split}/${card.step}/${card.group}.${card.member}`} card=${card} address=${address(card)} chosen=${at === chosen} />`,
      )}</tbody>
    </table></div>
    <${Pager} page=${page} search=${search} change=${change} />
  </div>` as VNode;
};
