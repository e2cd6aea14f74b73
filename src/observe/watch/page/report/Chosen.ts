/** The episodes that a report shows of a run, each with why it is shown. A group is drawn once it is opened. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Group } from "../episodes/Group.ts";
import { Guarded } from "../episodes/Guarded.ts";
import { saying } from "../filter/windows.ts";
import { count, number } from "../format.ts";
import type { ChosenGroup, ReportRun } from "./ReportData.ts";

const One = ({
  chosen,
  open,
  run,
}: {
  readonly chosen: ChosenGroup;
  readonly run: ReportRun;
  readonly open: boolean;
}) => {
  const [shown, show] = useState(open);
  const { card, leftOut, records, why } = chosen;
  const { group, reward, split, step, success, tag, verdict } = card;
  return html`<details class="rp-group" open=${shown} onToggle=${(event: Event) => show((event.currentTarget as HTMLDetailsElement).open)}>
    <summary>
      <b>${why.join(", ")}</b>
      <span class="muted">${tag}, step ${step}, ${split === "val" ? "validation" : "training"} group ${group}, reward ${number(reward)}, ${success ? "success" : "no success"}${verdict === null ? "" : `, ${saying[verdict]}`}</span>
    </summary>
    ${leftOut === 0 ? null : html`<p class="muted">${count(leftOut, "episode")} of the group left out for size.</p>`}
    ${shown ? html`<${Guarded}><${Group} records=${records} scenes=${run.scenes} first=${card.member} /><//>` : null}
  </details>`;
};

export const Chosen = ({ colour, run }: { readonly run: ReportRun; readonly colour: string }): VNode => {
  const { counts, groups } = run;
  return html`<section class="rp-groups">
    <h3 style=${{ color: colour }}>${run.card.id}</h3>
    <p class="muted">${count(groups.length, "group")} of ${count(counts.episodes, "recorded episode")}.${
      counts.groupsLeftOut === 0
        ? ""
        : ` ${count(counts.groupsLeftOut, "chosen group")} left out for size, or for what their texts give away.`
    }</p>
    ${groups.map((chosen, at) => html`<${One} key=${at} chosen=${chosen} run=${run} open=${at === 0} />`)}
  </section>` as VNode;
};
