/**
 * The page's own files and its libraries, read once at start; a request can only name one of them. Sources are served with their
 * types stripped; the published package has JavaScript. Invariant: an asset's ETag is the hash of its bytes.
 */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { extname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { Effect } from "effect";
import type { Reply } from "../../../support/http/Reply.ts";
import type { Route } from "../../../support/http/Route.ts";
import { libraries, moduleFile, styleSheetFile } from "../libraries.ts";
import { stripTypes } from "../stripTypes.ts";
import { takesGzip } from "./replies.ts";

interface Asset {
  readonly type: string;
  readonly etag: string;
  readonly bytes: Buffer;
  readonly gzipped: Buffer;
  readonly policy: string | null;
}

/** Assets by path. */
export type Assets = ReadonlyMap<`/${string}`, Asset>;

const pageFolder = fileURLToPath(new URL("../page/", import.meta.url));

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".ts": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json; charset=utf-8",
};

/** The policy allows inline scripts, such as the import map, by their hashes. */
const policyOf = (html: string): string => {
  const inline = [...html.matchAll(/<script(?![^>]*\bsrc=)[^>]*>([\s\S]*?)<\/script>/g)].map(([, text = ""]) => text);
  const hashes = inline.map((text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`);
  return [
    "default-src 'self'",
    `script-src ${["'self'", ...hashes].join(" ")}`,
    "img-src 'self' data: blob:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
};

const assetOf = (path: string, text: string): Asset => {
  const bytes = Buffer.from(extname(path) === ".ts" ? stripTypes(text) : text);
  return {
    type: types[extname(path)] ?? "application/octet-stream",
    etag: `"${createHash("sha256").update(bytes).digest("hex").slice(0, 32)}"`,
    bytes,
    gzipped: gzipSync(bytes),
    policy: extname(path) === ".html" ? policyOf(text) : null,
  };
};

/** True for files that browsers request; a file of types alone has nothing to run. */
const isServed = (path: string): boolean =>
  Object.hasOwn(types, extname(path)) && !/\.d\.ts$|(?:^|\/)tsconfig\.json$/.test(path);

const pageFiles = (folder: string): readonly (readonly [`/${string}`, Asset])[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter(isServed)
    .flatMap((file) => {
      const name = `/page/${relative(folder, file).split("\\").join("/")}` as const;
      const asset = assetOf(file, readFileSync(file, "utf8"));
      // index.html names the TypeScript sources, so a built file is served under that name too.
      return [
        [name, asset] as const,
        ...(name.endsWith(".js") ? [[`${name.slice(0, -2)}ts` as `/${string}`, asset] as const] : []),
      ];
    });

const vendorFiles = (): readonly (readonly [`/${string}`, Asset])[] =>
  [
    ...libraries.map((library) => [`/vendor/${library.replace("/", "-")}.js`, moduleFile(library)] as const),
    ["/vendor/uplot.css", styleSheetFile()] as const,
  ].map(([path, file]) => [path, assetOf(path, readFileSync(file, "utf8"))]);

export const loadAssets = (folder: string = pageFolder): Assets => {
  const assets = new Map([...(existsSync(folder) ? pageFiles(folder) : []), ...vendorFiles()]);
  const index = assets.get("/page/index.html");
  if (index !== undefined) assets.set("/", index);
  return assets;
};

export const assetReply = ({ bytes, etag, policy, type, gzipped }: Asset, headers: IncomingHttpHeaders): Reply => {
  const always = {
    "cache-control": "no-cache",
    etag,
    vary: "accept-encoding",
    "content-security-policy": policy ?? "default-src 'none'",
  };
  if (headers["if-none-match"] === etag) return { status: 304, headers: always };
  const zips = takesGzip(headers);
  return {
    status: 200,
    headers: { ...always, "content-type": type, ...(zips ? { "content-encoding": "gzip" } : {}) },
    body: zips ? gzipped : bytes,
  };
};

/** A route for each asset. */
export const assetRoutes = (assets: Assets): readonly Route[] =>
  [...assets].map(([path, asset]) => ({
    method: "GET",
    path,
    isPage: true,
    handle: ({ headers }) => Effect.sync(() => assetReply(asset, headers)),
  }));
