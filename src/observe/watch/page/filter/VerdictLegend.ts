/** The colour of each verdict, and its share of all groups; surplus only if there is some. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import type { WindowView } from "../../Api.ts";
import { percent } from "../format.ts";
import { saying, tallyOf, verdicts } from "./windows.ts";

export const VerdictLegend = ({ windows }: { readonly windows: readonly WindowView[] }): VNode => {
  const { all, ...tally } = tallyOf(windows);
  const shown = verdicts.filter((name) => name !== "surplus" || tally.surplus > 0);
  return html`<p class="verdictlegend">${shown.map(
    (name) =>
      html`<span key=${name}><i class="swatch verdict ${name}"></i>${saying[name]} ${all === 0 ? "" : html`<b>${percent(tally[name] / all)}</b>`}</span>`,
  )}</p>`;
};
