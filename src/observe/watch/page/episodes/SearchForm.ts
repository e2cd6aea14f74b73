/** The form of a search for episodes; every change starts again from the newest. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { saying, verdicts } from "../filter/windows.ts";
import { everything, format, type Search } from "./Search.ts";

interface SearchFormProps {
  readonly search: Search;
  readonly tags: readonly string[];
  readonly change: (change: Partial<Search>) => void;
}

interface ChoiceProps {
  readonly name: string;
  readonly value: string | null;
  readonly choices: readonly (readonly [value: string, text: string])[];
  readonly choose: (value: string | null) => void;
}

const Choice = ({ choices, choose, name, value }: ChoiceProps) => {
  const onChange = (event: Event): void => {
    const chosen = (event.currentTarget as HTMLSelectElement).value;
    choose(chosen === "" ? null : chosen);
  };
  return html`<label>${name}
    <select value=${value ?? ""} onChange=${onChange}>
      <option value="">any</option>
      ${choices.map(([one, text]) => html`<option key=${one} value=${one}>${text}</option>`)}
    </select>
  </label>`;
};

const Step = ({
  change,
  name,
  value,
}: {
  readonly name: string;
  readonly value: number | null;
  readonly change: (value: number | null) => void;
}) => {
  const onChange = (event: Event): void => {
    const { valueAsNumber } = event.currentTarget as HTMLInputElement;
    change(Number.isSafeInteger(valueAsNumber) && valueAsNumber >= 0 ? valueAsNumber : null);
  };
  return html`<label>${name} <input type="number" min="0" step="1" value=${value ?? ""} onChange=${onChange} /></label>`;
};

const named = (values: readonly string[]) => values.map((value) => [value, value] as const);

export const SearchForm = ({ change, search, tags }: SearchFormProps): VNode => {
  const { from, split, success, tag, to, verdict } = search;
  const set = (values: Partial<Search>): void => change({ ...values, offset: 0 });
  return html`<form class="search" role="search" onSubmit=${(event: Event) => event.preventDefault()}>
    <${Step} name="steps from" value=${from} change=${(from: number | null) => set({ from })} />
    <${Step} name="to" value=${to} change=${(to: number | null) => set({ to })} />
    <${Choice} name="split" value=${split} choices=${[["train", "training"], ["val", "validation"]]}
      choose=${(value: string | null) => set({ split: value === "train" || value === "val" ? value : null })} />
    <${Choice} name="tag" value=${tag} choices=${named(tags)} choose=${(tag: string | null) => set({ tag })} />
    <${Choice} name="success" value=${success === null ? null : String(success)} choices=${[["true", "yes"], ["false", "no"]]}
      choose=${(value: string | null) => set({ success: value === null ? null : value === "true" })} />
    <${Choice} name="verdict" value=${verdict} choices=${verdicts.map((one) => [one, saying[one]])}
      choose=${(value: string | null) => set({ verdict: verdicts.find((one) => one === value) ?? null })} />
    <button type="button" disabled=${format(search) === ""} onClick=${() => change(everything)}>clear</button>
  </form>` as VNode;
};
