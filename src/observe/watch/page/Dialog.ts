/** A modal dialog of the browser's own: focus stays inside, Escape closes it. */
import { html } from "htm/preact";
import type { ComponentChildren, VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

interface DialogProps {
  readonly open: boolean;
  readonly title: string;
  readonly onClose: () => void;
  readonly children?: ComponentChildren;
}

export const Dialog = ({ children, onClose, open, title }: DialogProps): VNode => {
  const ref = useRef<HTMLDialogElement>(null);
  // With the drawing, not after it: a late event would meet a dialog that is to be open and is not yet, and close it.
  useLayoutEffect(() => {
    const dialog = ref.current;
    if (dialog === null || dialog.open === open) return;
    if (open) dialog.showModal();
    else dialog.close();
  }, [open]);
  // The event comes late: the dialog may be open again by then.
  const closed = (): void => {
    if (open && ref.current?.open === false) onClose();
  };
  return html`<dialog ref=${ref} aria-label=${title} onClose=${closed}>
    ${open ? html`<h2>${title}</h2>${children}` : null}
  </dialog>`;
};
