/** Keeps a record that cannot be shown from taking the rest of the page with it. */
import { html } from "htm/preact";
import type { ComponentChildren, VNode } from "preact";
import { useErrorBoundary } from "preact/hooks";

export const Guarded = ({ children }: { readonly children: ComponentChildren }): VNode => {
  const [error] = useErrorBoundary();
  if (error === undefined) return html`${children}`;
  const why = error instanceof Error ? error.message : String(error);
  return html`<p class="problem" role="alert">The record is damaged and cannot be shown: ${why}</p>`;
};
