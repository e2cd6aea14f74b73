/** The reply of a record without pieces, such as an endpoint's. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { textParts } from "./reply.ts";

export const Plain = ({ reply }: { readonly reply: string }): VNode => {
  const parts = textParts(reply);
  const halves =
    parts === null
      ? [["Reply", reply] as const]
      : [["Thought", parts.thought] as const, ["Answer", parts.answer] as const].filter(([, text]) => text !== "");
  return html`<div class="tokens">${halves.map(
    ([name, text]) =>
      html`<div key=${name} class=${`half half-${name.toLowerCase()}`}><span class="half-name">${name}</span><p class="text">${text}</p></div>`,
  )}</div>` as VNode;
};
