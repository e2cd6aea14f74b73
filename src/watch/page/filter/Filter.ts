/** x */
import { html } from "htm/preact";
export const Filter = () => html`<p>filter</p>`;
