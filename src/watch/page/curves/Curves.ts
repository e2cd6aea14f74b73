/** x */
import { html } from "htm/preact";
export const Curves = () => html`<p>curves</p>`;
