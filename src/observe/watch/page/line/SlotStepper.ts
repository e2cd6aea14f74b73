/** Sets a stage's slots, or how many there are of something else: a step down, a number to type, a step up. */
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

interface SlotStepperProps {
  /** A stage, or a setting with its most. */
  readonly stage: Pick<StageView, "name" | "concurrency"> & { readonly most?: number | null };
  readonly controls: Controls;
  /** The unit of the count. */
  readonly unit?: "slot" | "lane";
}

export const SlotStepper = ({ controls, stage, unit = "slot" }: SlotStepperProps): VNode => {
  const { concurrency, name } = stage;
  const most = stage.most ?? MOST;
  const [counted, whose] = unit === "slot" ? [`Slots of ${name}`, ` for ${name}`] : ["Lanes in use", ""];
  const [text, setText] = useState<string | null>(null);
  useEffect(() => setText(null), [concurrency]);
  const disabled = controls.reason !== null;
  const why = controls.reason ?? counted;
  const set = (value: number | null): void => {
    setText(null);
    if (value === null || value === concurrency) return;
    void controls.ask({ _tag: "SetConcurrency", stage: name, concurrency: value });
  };
  return html`<span class="stepper" title=${why}>
    <button type="button" aria-label="One ${unit} less${whose}" disabled=${disabled || concurrency <= 1} onClick=${() => set(concurrency - 1)}>−</button>
    <input
      type="text" inputmode="numeric" size="3" aria-label=${counted} disabled=${disabled}
      value=${text ?? String(concurrency)}
      onInput=${(event: InputEvent & { readonly currentTarget: HTMLInputElement }) => setText(event.currentTarget.value)}
      onKeyDown=${(event: KeyboardEvent & { readonly currentTarget: HTMLInputElement }) => {
        if (event.key === "Enter") set(slotsIn(event.currentTarget.value));
        if (event.key === "Escape") setText(null);
      }}
      onBlur=${() => text !== null && set(slotsIn(text))}
    />
    <button type="button" aria-label="One ${unit} more${whose}" disabled=${disabled || concurrency >= most} onClick=${() => set(concurrency + 1)}>+</button>
  </span>`;
};
