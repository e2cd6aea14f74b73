/** The active alarms at the shown moment, in words, and the share of failed episodes: a strip below the head. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import type { LineView } from "../Api.ts";
import { percent } from "./format.ts";

/** `88% of the episodes of the last step and 25% of the last validation failed`; null where none did. */
export const failuresOf = ({ failed }: Pick<LineView, "failed">): string | null => {
  const share = (value: number): string => (value < 0.01 ? "<1%" : percent(value));
  const parts = [
    ...(failed?.training === undefined ? [] : [`${share(failed.training)} of the episodes of the last step`]),
    ...(failed?.validation === undefined ? [] : [`${share(failed.validation)} of those of the last validation`]),
  ];
  return parts.length === 0 ? null : `${parts.join(" and ")} failed`;
};

export const Alarms = ({ line }: { readonly line: LineView | null }): VNode | null => {
  const failures = line === null ? null : failuresOf(line);
  const alarms = line?.alarms ?? [];
  if (alarms.length === 0 && failures === null) return null;
  return html`<div class="alarms" role="status">
    ${alarms.map(
      ({ alarm, head, sentences: [measured = "", ...others] }) => html`<details key=${alarm} class="banner warn">
        <summary><b>${head}.</b> ${measured}</summary>
        ${others.map((sentence) => html`<p key=${sentence}>${sentence}</p>`)}
      </details>`,
    )}
    ${failures === null ? null : html`<p class="banner warn">${failures}: success counts the others alone.</p>`}
  </div>`;
};
