/** Versions of the weights on their way back: which one the learner made, which one samples, and when the last ones were adopted. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import type { LineView } from "../../Api.ts";
import { clock, duration } from "../format.ts";

/** Adoptions as places on a strip from the oldest shown to now, as shares of its width. */
export const placesOf = (
  adoptions: LineView["adoptions"],
  at: number,
): readonly { readonly version: number; readonly at: number; readonly share: number }[] => {
  const from = adoptions[0]?.at ?? at;
  const span = Math.max(1, at - from);
  return adoptions.map((adoption) => ({ ...adoption, share: Math.min(1, Math.max(0, (adoption.at - from) / span)) }));
};

export const Weights = ({ view }: { readonly view: LineView }): VNode => {
  const { adopted, adoptions, at, version } = view;
  const behind = version - adopted;
  const newest = adoptions.at(-1);
  const oldest = adoptions[0];
  return html`<section class="stage weights" aria-label="Weights">
    <header><h3>weights</h3>
      <span class="badge ${behind > 0 ? "wait" : ""}">${behind > 0 ? `${behind} to adopt` : "adopted"}</span></header>
    <p class="work">from learn back to generate</p>
    <div class="versions">
      <span title="Newest version that every generator samples with">sampling <b>v${adopted}</b></span>
      <span class="arrow" aria-hidden="true">⟵</span>
      <span title="Version after the newest update">learned <b>v${version}</b></span>
    </div>
    <div class="adoptions" role="img" aria-label="${adoptions.length} adoptions">
      ${placesOf(adoptions, at).map(
        ({ at: when, share, version }) =>
          html`<i key=${version} style=${{ left: `${share * 100}%` }} title="v${version} adopted at ${clock(when, at)}"></i>`,
      )}
    </div>
    <p class="striplabels muted">
      ${
        oldest === undefined || newest === undefined
          ? "none adopted yet"
          : html`<span>v${oldest.version}, ${duration(at - oldest.at)} ago</span><span>v${newest.version}, ${duration(at - newest.at)} ago</span>`
      }
    </p>
  </section>`;
};
