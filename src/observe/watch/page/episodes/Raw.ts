/** An episode's record as it is in the file: messages, arrays over tokens, and the JSON to copy. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { EpisodeRecord, SentMessage, TurnRecord } from "../../../../domain/EpisodeRecord.ts";
import { labels, shadings, valuesOf } from "./shade.ts";

const CopyButton = ({ records }: { readonly records: readonly EpisodeRecord[] }) => {
  const [said, say] = useState("Copy JSON");
  const copy = (): void => {
    const text = JSON.stringify(records.length === 1 ? records[0] : records, null, 2);
    // Browsers keep the clipboard from pages without TLS that are not on this machine.
    const written = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error("no clipboard"));
    written.then(
      () => say("Copied"),
      () => say("The browser does not allow it"),
    );
  };
  return html`<button type="button" class="copy" onClick=${copy} onBlur=${() => say("Copy JSON")}>${said}</button>`;
};

/** One line a token: prompt tokens are shown, not trained on (mask 0), sampled ones are trained on (mask 1). */
const Arrays = ({ turn }: { readonly turn: TurnRecord }) => {
  const shown = shadings.filter((shading) => valuesOf(turn, shading) !== null);
  return html`<div class="arrays">
    <p><b>prompt ids</b> <span class="hint">mask 0, ${turn.prompt_ids.length}</span> <code>${turn.prompt_ids.join(" ")}</code></p>
    <div class="scroll"><table>
      <thead><tr><th>#</th><th>id</th><th>mask</th><th>text</th>${shown.map((one) => html`<th key=${one}>${labels[one]}</th>`)}</tr></thead>
      <tbody>${turn.ids.map(
        (id, at) => html`<tr key=${at}>
          <td>${at + 1}</td><td>${id}</td><td>1</td><td><code>${JSON.stringify(turn.pieces?.[at] ?? "")}</code></td>
          ${shown.map((one) => html`<td key=${one}>${valuesOf(turn, one)?.[at]}</td>`)}
        </tr>`,
      )}</tbody>
    </table></div>
  </div>`;
};

/** The messages that an endpoint got for a turn. */
const Sent = ({ prompt }: { readonly prompt: readonly SentMessage[] }) =>
  html`${prompt.map(({ content, role }, at) => html`<div key=${at} class="message"><b>${role}</b><pre>${content}</pre></div>`)}`;

/** Contents that are made only once they are looked at. */
const Later = ({ name, children }: { readonly name: string; readonly children: () => unknown }) => {
  const [open, setOpen] = useState(false);
  return html`<details onToggle=${(event: Event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
    <summary>${name}</summary>${open ? children() : null}
  </details>`;
};

const Sequence = ({ record }: { readonly record: EpisodeRecord }) => html`
  <h4>Messages</h4>
  ${record.messages.map(
    ({ content, role }, at) => html`<div key=${at} class="message"><b>${role}</b><pre>${content}</pre></div>`,
  )}
  ${record.final === undefined ? null : html`<div class="message"><b>state after the last turn</b><pre>${record.final}</pre></div>`}
  ${record.turns.map((turn, at) =>
    turn.prompt === undefined
      ? html`<${Later} key=${at} name=${`Turn ${at + 1}: arrays of ${turn.ids.length} tokens`}>${() => html`<${Arrays} turn=${turn} />`}<//>`
      : html`<${Later} key=${at} name=${`Turn ${at + 1}: what the endpoint was sent`}>${() => html`<${Sent} prompt=${turn.prompt} />`}<//>`,
  )}
`;

export const Raw = ({ records }: { readonly records: readonly EpisodeRecord[] }): VNode =>
  html`<div class="raw">
    <${Later} name="As recorded">${() => html`
      <${CopyButton} records=${records} />
      ${records.map((record) => html`<${Sequence} key=${record.sequence} record=${record} />`)}
    `}<//>
  </div>` as VNode;
