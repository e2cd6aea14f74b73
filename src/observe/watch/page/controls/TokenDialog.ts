/** Asks for the token of the server: what it prints at its start shows or names it. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { Dialog } from "../Dialog.ts";
import type { TokenPrompt } from "./useControls.ts";

interface TokenFormProps {
  /** True after the server refused a token. */
  readonly wrong: boolean;
  readonly give: (token: string) => void;
  readonly cancel?: () => void;
}

export const TokenForm = ({ cancel, give, wrong }: TokenFormProps): VNode => {
  const submit = (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): void => {
    event.preventDefault();
    // From the form, not from a state: Enter may follow the last key before anything is drawn again.
    const given = String(new FormData(event.currentTarget).get("token") ?? "").trim();
    event.currentTarget.reset();
    if (given !== "") give(given);
  };
  return html`<form class="tokenform" onSubmit=${submit}>
    <p>${wrong ? html`<b>The server does not know this token.</b> ` : ""}<code>train --watch</code> or <code>millrace watch</code> printed the address
      of this page: the token is the part behind <code>#token=</code>, or it is in the file named there, or it is the one that you gave to the
      server. It is kept for this tab only.</p>
    <label>Token
      <input type="password" name="token" autocomplete="off" spellcheck=${false} required />
    </label>
    <div class="buttons">
      ${cancel === undefined ? null : html`<button type="button" onClick=${cancel}>Cancel</button>`}
      <button type="submit" class="primary">Use it</button>
    </div>
  </form>`;
};

export const TokenDialog = ({ question }: { readonly question: TokenPrompt }): VNode =>
  html`<${Dialog} open=${question.open} title="Token for controls" onClose=${question.cancel}>
    <${TokenForm} wrong=${question.wrong} give=${question.give} cancel=${question.cancel} />
  <//>`;
