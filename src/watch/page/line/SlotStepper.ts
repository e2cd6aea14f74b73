/** Sets a stage's slots: a step down, a number to type, a step up. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { StageView } from "../../Api.ts";
import type { Controls } from "../controls/useControls.ts";

const MOST = 65_536;

/** The number that a text means; null where it is no count of slots. */
export const slotsIn = (text: string): number | null => {
  const value = /^\s*\d+\s*$/.test(text) ? Number(text) : Number.NaN;
  return value >= 1 && value <= MOST ? value : null;
};

export const SlotStepper = ({ controls, stage }: { readonly stage: StageView; readonly controls: Controls }): VNode => {
  const { concurrency, name } = stage;
  const [text, setText] = useState<string | null>(null);
  useEffect(() => setText(null), [concurrency]);
  const disabled = controls.reason !== null;
  const why = controls.reason ?? `Slots of ${name}`;
  const set = (value: number | null): void => {
    setText(null);
    if (value === null || value === concurrency) return;
    void controls.ask({ _tag: "SetConcurrency", stage: name, concurrency: value });
  };
  return html`<span class="stepper" title=${why}>
    <button type="button" aria-label="One slot less for ${name}" disabled=${disabled || concurrency <= 1} onClick=${() => set(concurrency - 1)}>−</button>
    <input
      type="text" inputmode="numeric" size="3" aria-label="Slots of ${name}" disabled=${disabled}
      value=${text ?? String(concurrency)}
      onInput=${(event: InputEvent & { readonly currentTarget: HTMLInputElement }) => setText(event.currentTarget.value)}
      onKeyDown=${(event: KeyboardEvent & { readonly currentTarget: HTMLInputElement }) => {
        if (event.key === "Enter") set(slotsIn(event.currentTarget.value));
        if (event.key === "Escape") setText(null);
      }}
      onBlur=${() => text !== null && set(slotsIn(text))}
    />
    <button type="button" aria-label="One slot more for ${name}" disabled=${disabled || concurrency >= MOST} onClick=${() => set(concurrency + 1)}>+</button>
  </span>`;
};
