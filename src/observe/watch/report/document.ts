/**
 * A report, or the page of a sweep, as one HTML text that needs no network: the page's modules, their libraries, styles and data stand in it. Invariant: no text of
 * the data can end the element it stands in, and the browser is told to load nothing from elsewhere.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { styleSheetFile } from "../libraries.ts";
import type { ReportData } from "../page/report/ReportData.ts";
import type { SweepData } from "../page/sweep/SweepData.ts";
import { modulesFrom } from "./modules.ts";

const page = new URL("../page/", import.meta.url);

/** The page's sheets with those that they import in their places, and the libraries'. */
const sheetOf = (url: URL): string =>
  readFileSync(url, "utf8").replace(/@import url\("([^"]+)"\);/g, (_, name: string) => sheetOf(new URL(name, url)));

const sheets = (): string =>
  [
    readFileSync(styleSheetFile(), "utf8"),
    sheetOf(new URL("style.css", page)),
    sheetOf(new URL("report/report.css", page)),
  ].join("\n");

/** JSON that can stand in a script element, whatever its texts hold. */
export const scriptJson = (value: unknown): string =>
  JSON.stringify(value)
    .replaceAll("<", "\\u003c")
    .replaceAll(">", "\\u003e")
    .replaceAll("&", "\\u0026")
    .replaceAll("\u2028", "\\u2028")
    .replaceAll("\u2029", "\\u2029");

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

const hash = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** The document that the module `main` of the page draws from `data`. */
const pageOf = (main: string, title: string, data: unknown): string => {
  const { entry, imports } = modulesFrom(new URL(main, page));
  const map = scriptJson({ imports });
  const start = `import ${JSON.stringify(entry)};`;
  const policy = [
    "default-src 'none'",
    `script-src ${hash(map)} ${hash(start)} data:`,
    "style-src 'unsafe-inline'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return [
    "<!doctype html>",
    '<html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${escaped(policy)}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="referrer" content="no-referrer">',
    `<title>${escaped(title)}</title>`,
    `<style>${sheets().replaceAll("</", "<\\/")}</style>`,
    `<script type="importmap">${map}</script>`,
    '</head><body><div id="report"><noscript>This report is drawn by its own scripts.</noscript></div>',
    `<script type="application/json" id="data">${scriptJson(data)}</script>`,
    `<script type="module">${start}</script>`,
    "</body></html>",
    "",
  ].join("\n");
};

export const documentOf = (data: ReportData): string =>
  pageOf("report/main.ts", `millrace: ${data.runs.map(({ card }) => card.id).join(", ")}`, data);

/** The page of a sweep. */
export const sweepDocumentOf = (data: SweepData): string =>
  pageOf("sweep/main.ts", `millrace sweep: ${data.name}`, data);
