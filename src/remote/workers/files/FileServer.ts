/**
 * Serves versions of the weights, and the base model beside adapters, as files over HTTP. Invariants: nothing but the files that a manifest lists
 * is served, whatever the path says; a request may ask for the rest of a file; what clients do costs a bounded number of connections.
 */
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { Effect } from "effect";
import { modelFiles } from "../../../model/checkpoint/HuggingFaceFolder.ts";
import * as Manifest from "../../../support/files/Manifest.ts";
import { boundedServer } from "../../../support/http/boundedServer.ts";
import { type Guard, isLoopback, refusalOf } from "../../../support/http/Guard.ts";
import { folderOf } from "../../weights/VersionFolder.ts";
import type { ServeRequest } from "./protocol.ts";

const limits = { connections: 1_024, requestMs: 30_000, keepAliveMs: 60_000 };

/** A folder that is served: its files, and the text that lists them. */
interface Served {
  readonly folder: string;
  readonly entries: Manifest.Entries;
}

/** Files of a base model; its weights may lie in shards. */
const isModelFile = (name: string): boolean =>
  modelFiles.includes(name) || /^model[\w.-]*\.safetensors(\.index\.json)?$/.test(name);

/** The bytes [from, to] of `length` that a Range header asks for; all without one; null where it cannot be had. */
export const rangeOf = (header: string | undefined, length: number): readonly [from: number, to: number] | null => {
  const all = [0, length - 1] as const;
  const asked = /^bytes=(\d{1,15})-(\d{0,15})$/.exec(header ?? "");
  // A form that is not understood is ignored, as HTTP asks for.
  if (asked === null) return all;
  const from = Number(asked[1]);
  const to = asked[2] === "" ? length - 1 : Math.min(Number(asked[2]), length - 1);
  return from < length && from <= to ? [from, to] : null;
};

const guardOf = ({ host, hosts, token }: ServeRequest): Guard => ({
  wide: !isLoopback(host),
  hosts: [host, ...hosts],
  origins: [],
  token,
});

export class FileServer {
  readonly #request: ServeRequest;
  readonly #guard: Guard;
  readonly #model: Served | null;

  constructor(request: ServeRequest, model: Served | null) {
    this.#request = request;
    this.#guard = guardOf(request);
    this.#model = model;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers, headersDistinct: distinct, method = "" } = request;
    request.resume();
    const refusal = refusalOf(this.#guard, { method, headers, distinct });
    if (refusal !== null) return end(response, refusal.status, refusal.why);
    if (method !== "GET" && method !== "HEAD") return end(response, 405, "GET or HEAD");
    const [epoch = "", kind = "", ...rest] = (request.url ?? "").split("?", 1)[0]!.split("/").slice(1);
    if (epoch !== this.#request.epoch) return end(response, 410, "files of another start of the run");
    const served = await this.#folder(kind, rest);
    const name = rest.at(-1) ?? "";
    if (served === undefined) return end(response, 404, "no such folder");
    if (name === Manifest.MANIFEST) return this.#list(request, response, served);
    const entry = served.entries.get(name);
    if (entry === undefined) return end(response, 404, "no such file");
    return send(request, response, { path: join(served.folder, name), ...entry });
  }

  async #folder(kind: string, rest: readonly string[]): Promise<Served | undefined> {
    if (kind === "model") return rest.length === 1 ? (this.#model ?? undefined) : undefined;
    const version = /^v(\d{1,15})$/.exec(rest[0] ?? "")?.[1];
    if (kind !== "weights" || version === undefined || rest.length !== 2) return undefined;
    const folder = folderOf(this.#request.weights, Number(version));
    // It may be gone by now: whoever asked takes a newer one.
    const entries = await Effect.runPromise(Effect.orElseSucceed(Manifest.listed(folder), () => undefined));
    return entries && { folder, entries };
  }

  #list(request: IncomingMessage, response: ServerResponse, { entries }: Served): void {
    const text = Manifest.render(entries);
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
    response.end(request.method === "HEAD" ? "" : text);
  }
}

const end = (response: ServerResponse, status: number, why: string): void => {
  const text = `${why}\n`;
  response.writeHead(status, { "content-type": "text/plain", "content-length": Buffer.byteLength(text) });
  response.end(text);
};

interface Asked {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

const send = async (
  request: IncomingMessage,
  response: ServerResponse,
  { bytes, path, sha256 }: Asked,
): Promise<void> => {
  const found = await stat(path).catch(() => undefined);
  if (found?.size !== bytes) return end(response, 404, "the file is gone");
  const etag = `"${sha256}"`;
  // The rest of another file is of no use.
  const whole = request.headers["if-range"] !== undefined && request.headers["if-range"] !== etag;
  const range = whole || bytes === 0 ? ([0, bytes - 1] as const) : rangeOf(request.headers.range, bytes);
  if (range === null) {
    response.writeHead(416, { "content-range": `bytes */${bytes}`, "content-length": 0 });
    response.end();
    return;
  }
  const [from, to] = range;
  const part = from > 0 || to < bytes - 1;
  response.writeHead(part ? 206 : 200, {
    "content-type": "application/octet-stream",
    "content-length": to - from + 1,
    "accept-ranges": "bytes",
    etag,
    ...(part ? { "content-range": `bytes ${from}-${to}/${bytes}` } : {}),
  });
  if (request.method === "HEAD" || bytes === 0) return void response.end();
  // A client that goes away ends its own download and nothing else.
  await pipeline(createReadStream(path, { start: from, end: to, highWaterMark: 2 ** 18 }), response).catch(
    () => undefined,
  );
};

/** The server, not yet listening. */
export const makeServer = async (request: ServeRequest): Promise<Server> => {
  const { model, tls } = request;
  const entries = model === null ? null : await Effect.runPromise(Manifest.describe(model, isModelFile));
  const files = new FileServer(request, model === null || entries === null ? null : { folder: model, entries });
  const onRequest = (asked: IncomingMessage, response: ServerResponse): void => {
    files.answer(asked, response).catch(() => response.destroy());
  };
  const certificate = tls && { cert: await readFile(tls.cert), key: await readFile(tls.key) };
  return boundedServer(limits, { onRequest }, certificate);
};
