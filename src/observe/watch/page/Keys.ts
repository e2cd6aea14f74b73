/** The keyboard shortcuts of the page, and the dialog that lists them. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Dialog } from "./Dialog.ts";

const keys: readonly (readonly [string, string])[] = [
  ["1 – 6", "summary, line, curves, filter, episodes, runs"],
  [", .", "one step back, one step on"],
  ["← →", "the same, on the slider"],
  ["PageUp PageDown", "ten steps, on the slider"],
  ["Home End", "first moment, live, on the slider"],
  ["space", "play or hold"],
  ["l", "live"],
  ["t", "light or dark"],
  ["?", "these keys"],
];

export const KeysDialog = ({ onClose, open }: { readonly open: boolean; readonly onClose: () => void }): VNode =>
  html`<${Dialog} open=${open} title="Keys" onClose=${onClose}>
    <dl class="keys">${keys.map(([key, what]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${what}</dd></div>`)}</dl>
    <div class="buttons"><button type="button" class="primary" onClick=${onClose}>Close</button></div>
  <//>`;

/** True for a key that belongs to the focused element, and not to the page. */
const isTaken = (event: KeyboardEvent): boolean => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return true;
  const { target } = event;
  if (!(target instanceof HTMLElement)) return false;
  if (target.closest("dialog") !== null) return true;
  if (target instanceof HTMLInputElement) return target.type !== "range" && target.type !== "checkbox";
  if (event.key === " " && target.closest("button, a, summary, [role=button]") !== null) return true;
  return target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;
};

/** Calls the action of a key pressed anywhere on the page. */
export const useKeys = (actions: Readonly<Record<string, () => void>>): void => {
  const newest = useRef(actions);
  newest.current = actions;
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const action = newest.current[event.key];
      if (action === undefined || isTaken(event)) return;
      event.preventDefault();
      action();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
};
