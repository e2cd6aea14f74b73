/** First module of a sweep's page: shows the data that stands in the document. */
import { html, render } from "htm/preact";
import { Sweep } from "./Sweep.ts";
import type { SweepData } from "./SweepData.ts";

const data: SweepData = JSON.parse(document.getElementById("data")?.textContent ?? "");
const place = document.getElementById("report");
if (place !== null) {
  place.replaceChildren();
  render(html`<${Sweep} data=${data} />`, place);
}
