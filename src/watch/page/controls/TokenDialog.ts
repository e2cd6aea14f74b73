/** Asks for the token that `millrace watch` wrote to a file at its start. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Dialog } from "../Dialog.ts";
import type { TokenQuestion } from "./useControls.ts";

export const TokenDialog = ({ question }: { readonly question: TokenQuestion }): VNode => {
  const [text, setText] = useState("");
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const given = text.trim();
    setText("");
    if (given !== "") question.give(given);
  };
  return html`<${Dialog} open=${question.open} title="Token for controls" onClose=${question.cancel}>
    <form onSubmit=${submit}>
      <p>${question.wrong ? "The server does not know this token. " : ""}It lies in the file that <code>millrace watch</code> named when it started. It is kept for this tab only.</p>
      <label>Token
        <input type="password" name="token" autocomplete="off" spellcheck=${false} value=${text}
          onInput=${(event: InputEvent & { readonly currentTarget: HTMLInputElement }) => setText(event.currentTarget.value)} />
      </label>
      <div class="buttons">
        <button type="button" onClick=${question.cancel}>Cancel</button>
        <button type="submit" class="primary" disabled=${text.trim() === ""}>Use it</button>
      </div>
    </form>
  <//>`;
};
