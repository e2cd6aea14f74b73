/** A group: the filter's verdict, its episodes to choose from, and one of them or all side by side. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { EpisodeRecord } from "../../../../domain/EpisodeRecord.ts";
import type { Scenes } from "../../Api.ts";
import { saying } from "../filter/windows.ts";
import { count, number } from "../format.ts";
import { Episode } from "./Episode.ts";
import { Legend } from "./Legend.ts";
import { countMemberTokens, type Member, membersOf, outcomeText, verdictText } from "./members.ts";
import { available, type Shading, scaleOf } from "./shade.ts";
import { hasCalls } from "./tree.ts";

interface GroupProps {
  readonly records: readonly EpisodeRecord[];
  readonly scenes: Scenes;
  /** The member shown at first. */
  readonly first?: number | null;
}

const Verdict = ({ record: { groupScore, verdict } }: { readonly record: EpisodeRecord }) =>
  verdict === undefined
    ? html`<span class="fact quiet">validation, not filtered</span>`
    : html`<span class=${`fact verdict verdict-${verdict}`} title=${verdictText[verdict]}>${saying[verdict]}</span>
        ${groupScore === undefined ? null : html`<span class="fact">filter's score ${number(groupScore)}</span>`}
        <span class="hint">${verdictText[verdict]}</span>`;

interface TabsProps {
  readonly members: readonly Member[];
  /** Null: all of them. */
  readonly chosen: number | null;
  readonly choose: (member: number | null) => void;
}

/** Explains the tabs of a group to a first-time reader. */
const TabsHint = ({ members }: { readonly members: readonly Member[] }) => {
  const succeeded = members.filter(({ record }) => record.success).length;
  const many = members.length > 1;
  return html`<p class="hint">${
    many
      ? `A tab is one of the group's ${members.length} episodes, all played from the same start; ${succeeded} succeeded.`
      : "The one episode of this group that is recorded."
  } A tab says its number, ✓ for success or ✗ for none, its reward, and the tokens that the policy wrote.${many ? " The filter compares the rewards of the tabs." : ""}</p>`;
};

/** One tab for each member; the arrow keys lead from one to the next. */
const Tabs = ({ choose, chosen, members }: TabsProps) => {
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const at = members.findIndex(({ member }) => member === chosen);
    const next = members[at + by];
    if (by === 0 || next === undefined || !(event.currentTarget instanceof HTMLElement)) return;
    event.preventDefault();
    choose(next.member);
    event.currentTarget.querySelector<HTMLElement>(`[data-member="${next.member}"]`)?.focus();
  };
  const tabs = members.map(
    ({ member, record, sequences }) => html`<button key=${member} type="button" role="tab" data-member=${member}
      class=${`tab ${record.success ? "good" : "bad"}`} aria-selected=${member === chosen} tabindex=${member === chosen ? 0 : -1}
      title=${outcomeText(record.outcome, hasCalls(sequences) ? "agent" : "environment")} onClick=${() => choose(member)}>
      <b>${member}</b> ${record.success ? "✓" : "✗"} ${number(record.reward)}
      <small>${count(countMemberTokens({ member, record, sequences }), "token")}</small>
    </button>`,
  );
  return html`<div class="tabs">
    <div role="tablist" aria-label="Episodes of the group" onKeyDown=${onKeyDown}>${tabs}</div>
    <label><input type="checkbox" checked=${chosen === null} disabled=${members.length < 2}
      onChange=${() => choose(chosen === null ? (members[0]?.member ?? null) : null)} /> side by side</label>
  </div>`;
};

export const Group = ({ first = null, records, scenes }: GroupProps): VNode => {
  const members = membersOf(records);
  const [chosen, choose] = useState<number | null>(first ?? members[0]?.member ?? null);
  const [shading, shade] = useState<Shading | null>("logprob");
  const possible = available(records);
  const scale = shading === null || !possible.includes(shading) ? null : scaleOf(records, shading);
  const [one] = members;
  if (one === undefined) return html`<p class="empty">No episode of this group is recorded.</p>` as VNode;
  const { group, seed, split, step, tag } = one.record;
  const scene = scenes[tag] ?? null;
  const shown = chosen === null ? members : members.filter(({ member }) => member === chosen);
  return html`<div class="group">
    <header>
      <h3>${tag} <small>group ${group}, step ${step}, ${split === "val" ? "validation" : "training"}, seed ${seed}</small></h3>
      <div class="facts"><${Verdict} record=${one.record} /></div>
    </header>
    <${TabsHint} members=${members} />
    <${Tabs} members=${members} chosen=${chosen} choose=${choose} />
    <${Legend} available=${possible} scale=${scale} choose=${shade} />
    <div class=${chosen === null ? "siblings" : "single"}>
      ${shown.map(
        (member) => html`<div key=${member.member} class="sibling">
        ${chosen === null ? html`<h4 class="sibling-name">Episode ${member.member}</h4>` : null}
        <${Episode} member=${member} scene=${scene} scale=${scale} />
      </div>`,
      )}
    </div>
  </div>` as VNode;
};
