/** The metrics of a run to choose from: by section, with a search over names and meanings. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { MetricCard } from "../../Api.ts";
import { cardsBy, groupBySection, sayingOf } from "./choose.ts";

interface PickerProps {
  readonly names: readonly string[];
  readonly cards: readonly MetricCard[];
  readonly drawn: readonly string[];
  readonly onChange: (names: readonly string[]) => void;
  readonly onDefault: () => void;
}

/** A name in two parts, of which the last tells one from the next; a long one goes on in a second line. */
const Name = ({ name }: { readonly name: string }): VNode => {
  const cut = name.lastIndexOf("/") + 1;
  return html`<span class="metricname"><span class="head">${name.slice(0, cut)}</span><span class="last">${name.slice(cut)}</span></span>`;
};

export const Picker = ({ cards, drawn, names, onChange, onDefault }: PickerProps): VNode => {
  const [search, setSearch] = useState("");
  const groups = useMemo(() => groupBySection(names, cards, search), [names, cards, search]);
  const cardOf = useMemo(() => cardsBy(cards), [cards]);
  const set = (name: string, on: boolean): void =>
    onChange(on ? [...drawn, name] : drawn.filter((other) => other !== name));
  return html`<aside class="picker panel" aria-label="Metrics">
    <input type="search" placeholder="Search ${names.length} metrics" aria-label="Search metrics" value=${search}
      onInput=${(event: InputEvent & { readonly currentTarget: HTMLInputElement }) => setSearch(event.currentTarget.value)} />
    <div class="pickerbuttons"><span class="muted">${drawn.length} drawn</span><span class="spacer"></span>
      <button type="button" class="quiet" onClick=${onDefault}>the usual ones</button>
      <button type="button" class="quiet" onClick=${() => onChange([])}>none</button></div>
    <div class="picklist">
      ${groups.length === 0 ? html`<p class="muted">No metric has these words.</p>` : null}
      ${groups.map(
        ({
          names,
          section,
        }) => html`<details key=${section} open=${search !== "" || names.some((name) => drawn.includes(name))}>
          <summary>${section} <span class="muted">${names.length}</span></summary>
          ${names.map(
            (name) => html`<label key=${name} title=${`${name}\n${sayingOf(cardOf(name))}`}>
              <input type="checkbox" checked=${drawn.includes(name)}
                onChange=${(event: Event & { readonly currentTarget: HTMLInputElement }) => set(name, event.currentTarget.checked)} />
              <${Name} name=${name} /></label>`,
          )}
        </details>`,
      )}
    </div>
  </aside>`;
};
