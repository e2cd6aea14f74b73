/**
 * A report, or the page of a sweep, as one HTML text that needs no network: it contains the page's modules, libraries, styles and
 * data. Invariant: no text of the data can end its element, and the browser may load nothing from elsewhere.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { styleSheetFile } from "../libraries.ts";
import type { ReportData } from "../page/report/ReportData.ts";
import type { SweepData } from "../page/sweep/SweepData.ts";
import { modulesFrom } from "./modules.ts";

const page = new URL("../page/", import.meta.url);

/** The page's style sheets with their imports inlined, after that of the library. */
const sheetOf = (url: URL): string =>
  readFileSync(url, "utf8").replace(/@import url\("([^"]+)"\);/g, (_, name: string) => sheetOf(new URL(name, url)));

const sheets = (): string =>
  [
    readFileSync(styleSheetFile(), "utf8"),
    sheetOf(new URL("style.css", page)),
    sheetOf(new URL("report/report.css", page)),
  ].join("\n");

/** JSON that is safe inside a script element, whatever its texts contain. */
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

/** The document in which the page's module `main` draws `data`. */
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
