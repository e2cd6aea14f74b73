/** First module of a report: shows the data that stands in the document. */
import { html, render } from "htm/preact";
import { Report } from "./Report.ts";
import type { ReportData } from "./ReportData.ts";

const data: ReportData = JSON.parse(document.getElementById("data")?.textContent ?? "");
const place = document.getElementById("report");
if (place !== null) {
  place.replaceChildren();
  render(html`<${Report} data=${data} />`, place);
}
