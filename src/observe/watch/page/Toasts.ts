/**
 * Short messages in a corner: the effect of a command to the run, or the reason why it was refused. Screen readers announce them; they
 * disappear by themselves.
 */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useCallback, useRef, useState } from "preact/hooks";

export interface Toast {
  readonly id: number;
  readonly kind: "good" | "bad";
  readonly text: string;
}

export type ShowToast = (kind: Toast["kind"], text: string) => void;

const SHOWN_MS = 6000;
const MOST_SHOWN = 4;

export const useToasts = (): readonly [readonly Toast[], ShowToast, (id: number) => void] => {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const next = useRef(0);
  const drop = useCallback((id: number) => setToasts((all) => all.filter((toast) => toast.id !== id)), []);
  const showToast = useCallback<ShowToast>((kind, text) => {
    const id = ++next.current;
    setToasts((all) => [...all.slice(1 - MOST_SHOWN), { id, kind, text }]);
    setTimeout(() => drop(id), SHOWN_MS);
  }, []);
  return [toasts, showToast, drop];
};

interface ToastsProps {
  readonly toasts: readonly Toast[];
  readonly drop: (id: number) => void;
}

export const Toasts = ({
  drop,
  toasts,
}: ToastsProps): VNode => html`<div class="toasts" role="status" aria-live="polite">
  ${toasts.map(
    ({ id, kind, text }) => html`<div key=${id} class="toast ${kind}"><span>${text}</span>
      <button type="button" class="quiet" aria-label="Close" onClick=${() => drop(id)}>×</button></div>`,
  )}
</div>`;
