/** The page's first module: lists the runs that the server shows. */
import { html, render } from "htm/preact";
import type { RunCard } from "../Api.ts";

const answer = await fetch("/api/runs");
const runs: readonly RunCard[] = answer.ok ? await answer.json() : [];
const place = document.getElementById("app");
const rows = runs.map(
  ({ id, state, step, steps }) => html`<li key=${id}>${id}: ${state}, step ${step} of ${steps}</li>`,
);
if (place !== null) render(html`<h1>millrace</h1><ul>${rows}</ul>`, place);
