/** The state that a turn showed: its picture, with the text one click away; the text alone where there is no picture. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import type { Drawing } from "../drawing/Drawing.ts";
import { Picture } from "../drawing/Picture.ts";

interface StateProps {
  readonly name: string;
  readonly text: string;
  readonly drawing: Drawing | null;
  readonly before?: Drawing | null;
}

export const State = ({ before = null, drawing, name, text }: StateProps): VNode => {
  const words = html`<pre class="state-text">${text}</pre>`;
  if (drawing === null) return html`<figure class="state"><figcaption>${name}</figcaption>${words}</figure>` as VNode;
  return html`<figure class="state">
    <figcaption>${name}</figcaption>
    <${Picture} drawing=${drawing} before=${before} />
    <details><summary>text</summary>${words}</details>
  </figure>` as VNode;
};
