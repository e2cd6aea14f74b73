/**
 * Serves versions of the weights, and the base model of adapters, as files over HTTP. Invariants: only files that a manifest lists are
 * served, whatever the path says; a request may ask for the rest of a file; the number of connections is bounded.
 */
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import type { IncomingHttpHeaders } from "node:http";
import { join } from "node:path";
import { Effect, type Scope } from "effect";
import { modelFiles } from "../../../model/checkpoint/HuggingFaceFolder.ts";
import type { FileError } from "../../../support/files/FileError.ts";
import * as Manifest from "../../../support/files/Manifest.ts";
import { type Guard, isLoopback } from "../../../support/http/Guard.ts";
import type { ListenFailed } from "../../../support/http/listen.ts";
import { notFound, Problem } from "../../../support/http/Problem.ts";
import type { Reply } from "../../../support/http/Reply.ts";
import type { RouteRequest } from "../../../support/http/Route.ts";
import { type ListeningServer, serve } from "../../../support/http/serve.ts";
import { versionFolder } from "../../weights/VersionFolder.ts";
import type { ServeRequest } from "./protocol.ts";

const limits = { connections: 1_024, requestMs: 30_000, keepAliveMs: 60_000 };

interface ServedFolder {
  readonly folder: string;
  readonly entries: Manifest.FileDigests;
}

/** True for files of a base model, whose weights may lie in shards. */
const isModelFile = (name: string): boolean =>
  modelFiles.includes(name) || /^model[\w.-]*\.safetensors(\.index\.json)?$/.test(name);

/** The first and last byte that a Range header asks for: all without a header, null if the file is too short. */
export const parseRange = (header: string | undefined, length: number): readonly [from: number, to: number] | null => {
  const all = [0, length - 1] as const;
  const match = /^bytes=(\d{1,15})-(\d{0,15})$/.exec(header ?? "");
  // HTTP asks servers to ignore ranges in unknown forms.
  if (match === null) return all;
  const from = Number(match[1]);
  const to = match[2] === "" ? length - 1 : Math.min(Number(match[2]), length - 1);
  return from < length && from <= to ? [from, to] : null;
};

const guardFor = ({ host, hosts, token }: ServeRequest): Guard => ({
  isPublic: !isLoopback(host),
  hosts: [host, ...hosts],
  origins: [],
  token,
});

const servedVersion = Effect.fnUntraced(function* (weights: string, name: string) {
  const version = /^v(\d{1,15})$/.exec(name)?.[1];
  if (version === undefined) return yield* notFound("no such folder");
  const folder = versionFolder(weights, Number(version));
  // The version may be gone by now: the worker then fetches a newer one.
  const entries = yield* Effect.mapError(Manifest.load(folder), () => notFound("no such folder"));
  return { folder, entries };
});

const servedModel = Effect.fnUntraced(function* (model: string | null) {
  return model === null ? null : { folder: model, entries: yield* Manifest.digestFiles(model, isModelFile) };
});

/** Replies with a file, or with the requested range of it. */
const fileReply = (headers: IncomingHttpHeaders, path: string, { bytes, sha256 }: Manifest.FileDigest): Reply => {
  const etag = `"${sha256}"`;
  // The rest of another file would be of no use.
  const whole = headers["if-range"] !== undefined && headers["if-range"] !== etag;
  const range = whole || bytes === 0 ? ([0, bytes - 1] as const) : parseRange(headers.range, bytes);
  if (range === null) return { status: 416, headers: { "content-range": `bytes */${bytes}` }, body: "" };
  const [from, to] = range;
  const part = from > 0 || to < bytes - 1;
  return {
    status: part ? 206 : 200,
    headers: {
      "content-type": "application/octet-stream",
      "content-length": String(to - from + 1),
      "accept-ranges": "bytes",
      etag,
      ...(part ? { "content-range": `bytes ${from}-${to}/${bytes}` } : {}),
    },
    body: bytes === 0 ? "" : createReadStream(path, { start: from, end: to, highWaterMark: 2 ** 18 }),
  };
};

/** Replies with the manifest of a folder, or with a file that the manifest lists. */
const replyFrom = Effect.fnUntraced(function* (
  { entries, folder }: ServedFolder,
  name: string,
  { headers }: RouteRequest,
) {
  if (name === Manifest.MANIFEST) {
    return { status: 200, headers: { "content-type": "application/json" }, body: Manifest.render(entries) };
  }
  const entry = entries.get(name);
  if (entry === undefined) return yield* notFound("no such file");
  const path = join(folder, name);
  const status = yield* Effect.promise(() => stat(path).catch(() => undefined));
  if (status?.size !== entry.bytes) return yield* notFound("the file is gone");
  return fileReply(headers, path, entry);
});

const certificateOf = async (tls: ServeRequest["tls"]) =>
  tls && { cert: await readFile(tls.cert), key: await readFile(tls.key) };

export const serveFiles = (
  options: ServeRequest,
): Effect.Effect<ListeningServer, ListenFailed | FileError, Scope.Scope> =>
  Effect.gen(function* () {
    const model = yield* servedModel(options.model);
    const served = (
      epoch: string,
      folder: Effect.Effect<ServedFolder, Problem>,
      name: string,
      request: RouteRequest,
    ) =>
      epoch === options.epoch
        ? Effect.flatMap(folder, (servedFolder) => replyFrom(servedFolder, name, request))
        : Effect.fail(new Problem({ status: 410, message: "files of another start of the run" }));
    return yield* serve({
      host: options.host,
      port: options.port,
      certificate: yield* Effect.promise(() => certificateOf(options.tls)),
      limits,
      guard: guardFor(options),
      routes: [
        {
          method: "GET",
          path: "/:epoch/model/:name",
          handle: (request, epoch: string, name: string) =>
            served(
              epoch,
              model === null ? Effect.fail(notFound("no such folder")) : Effect.succeed(model),
              name,
              request,
            ),
        },
        {
          method: "GET",
          path: "/:epoch/weights/:version/:name",
          handle: (request, epoch: string, version: string, name: string) =>
            served(epoch, servedVersion(options.weights, version), name, request),
        },
      ],
      renderError: ({ message, status }) => ({
        status,
        headers: { "content-type": "text/plain" },
        body: `${message}\n`,
      }),
    });
  });
