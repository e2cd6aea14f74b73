/** The page's own files for the stand-in server: modules with their types stripped, libraries, and a policy as strict as the real server's. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";

const root = new URL("../../../", import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, root), "utf8");

const vendor: Readonly<Record<string, string>> = {
  "preact.js": "preact/dist/preact.module.js",
  "preact-hooks.js": "preact/hooks/dist/hooks.module.js",
  "htm.js": "htm/dist/htm.module.js",
  "htm-preact.js": "htm/preact/index.module.js",
  "uplot.js": "uplot/dist/uPlot.esm.js",
  "uplot.css": "uplot/dist/uPlot.min.css",
};

export interface File {
  readonly type: string;
  readonly text: string;
}

/** What lies at an address of the page; null where nothing does. */
export const fileAt = (path: string): File | null => {
  if (path === "/") return { type: "text/html", text: read("src/watch/page/index.html") };
  const library = path.startsWith("/vendor/") ? vendor[path.slice("/vendor/".length)] : undefined;
  if (library !== undefined) {
    return { type: library.endsWith(".css") ? "text/css" : "text/javascript", text: read(`node_modules/${library}`) };
  }
  if (!/^\/page\/[\w/]+\.(ts|css)$/.test(path)) return null;
  const text = read(`src/watch${path}`);
  return path.endsWith(".css")
    ? { type: "text/css", text }
    : { type: "text/javascript", text: stripTypeScriptTypes(text) };
};

const inline = /<script type="importmap">([\s\S]*?)<\/script>/.exec(read("src/watch/page/index.html"))?.[1] ?? "";
const hash = createHash("sha256").update(inline).digest("base64");

/** Nothing from elsewhere, and of scripts in the document the import map alone. */
export const policy = `default-src 'self'; script-src 'self' 'sha256-${hash}'; img-src 'self' data:; frame-ancestors 'none'`;
