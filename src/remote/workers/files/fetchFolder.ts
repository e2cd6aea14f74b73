/**
 * Fetches a folder with a manifest over HTTP. Invariants: a folder appears under its name whole and with the manifest's checksums, or not
 * at all; an interrupted transfer resumes where it stopped; no file name leads out of the folder.
 */
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { Agent, type IncomingMessage, request as plainRequest } from "node:http";
import { Agent as SecureAgent, request as secureRequest } from "node:https";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { Effect, Schema } from "effect";
import * as Manifest from "../../../support/files/Manifest.ts";
import type { FetchRequest, FileSource } from "./protocol.ts";

/** `gone`: the server has removed it, or serves another start of the run, so that a retry is useless. */
export class FetchFailed extends Schema.TaggedError<FetchFailed>()("FetchFailed", {
  reason: Schema.Literals(["unreachable", "refused", "gone", "damaged", "disk"]),
  message: Schema.String,
}) {}

const SILENT_MS = 30_000;
const longestManifest = 2 ** 20;

const failed = (reason: FetchFailed["reason"], message: string): FetchFailed => new FetchFailed({ reason, message });

const statusFailure = (url: string, status: number): FetchFailed => {
  if (status === 404 || status === 410) return failed("gone", `${url}: it is not there any more (${status})`);
  if (status === 401) return failed("refused", `${url}: the learner's token is asked for: set MILLRACE_TOKEN to it`);
  return failed(status >= 500 ? "unreachable" : "refused", `${url}: the answer is ${status}`);
};

/** Connections are kept alive: a version is a few files, and a connection for each would cost more than small files. */
const connections = { keepAlive: true, timeout: SILENT_MS };
const agent = new Agent(connections);
const secureAgent = new SecureAgent(connections);

/** Sends a request and resolves with the answer before its body is read. */
const sendRequest = async (
  { ca, token }: FileSource,
  url: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<IncomingMessage> => {
  const authority = ca === null ? {} : { ca: await readFile(ca) };
  const bearing = token === null ? headers : { ...headers, authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    const options = { headers: bearing, signal, timeout: SILENT_MS };
    const request = url.startsWith("https:")
      ? secureRequest(url, { ...options, ...authority, agent: secureAgent }, resolve)
      : plainRequest(url, { ...options, agent }, resolve);
    request.on("timeout", () => request.destroy(new Error(`nothing came for ${SILENT_MS / 1_000} s`)));
    request.on("error", reject);
    request.end();
  });
};

const textOf = async (answer: IncomingMessage, url: string): Promise<string> => {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer) {
    bytes += piece.length;
    if (bytes > longestManifest) throw failed("damaged", `${url}: it is longer than any list of files`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
};

const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  );

const hashOf = async (path: string): Promise<string> => {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
};

interface ListedFile {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Fetches a file, beginning behind the bytes that are already on disk. */
const fetchFile = async (
  from: FileSource,
  folder: string,
  { bytes, name, sha256 }: ListedFile,
  signal: AbortSignal,
): Promise<void> => {
  const url = `${from.url}/${name}`;
  const path = join(folder, name);
  for (let attempt = 0; ; attempt++) {
    const begun = await sizeOf(path);
    if (begun > bytes) await rm(path);
    else if (begun < bytes || bytes === 0) {
      const rest: Record<string, string> = begun === 0 ? {} : { range: `bytes=${begun}-`, "if-range": `"${sha256}"` };
      const answer = await sendRequest(from, url, rest, signal);
      const status = answer.statusCode ?? 0;
      if (status !== 200 && status !== 206) {
        answer.resume();
        throw statusFailure(url, status);
      }
      await pipeline(answer, createWriteStream(path, { flags: status === 206 ? "a" : "w" }), { signal });
      if ((await sizeOf(path)) < bytes) throw failed("unreachable", `${url}: the connection broke`);
    }
    if ((await hashOf(path)) === sha256) return;
    await rm(path);
    if (attempt === 1) throw failed("damaged", `${url}: it does not have the checksum of its manifest`);
  }
};

const isName = (name: string): boolean => /^[\w-][\w.-]{0,200}$/.test(name);

/** True for the files that hold weights. */
const isWeights = (name: string): boolean => name.endsWith(".safetensors") || name === "adapter_config.json";

const fetchAll = async (
  { byContents, from, into, weightsOnly }: FetchRequest,
  signal: AbortSignal,
): Promise<string> => {
  const url = `${from.url}/${Manifest.MANIFEST}`;
  const answer = await sendRequest(from, url, {}, signal);
  if (answer.statusCode !== 200) {
    answer.resume();
    throw statusFailure(url, answer.statusCode ?? 0);
  }
  const text = await textOf(answer, url);
  const entries = Manifest.parse(text);
  if (entries === undefined || ![...entries.keys()].every(isName)) {
    throw failed("damaged", `${url}: it is no list of files with their checksums`);
  }
  const files = new Map([...entries].filter(([name]) => !weightsOnly || isWeights(name)));
  const folder = byContents ? join(into, createHash("sha256").update(text).digest("hex").slice(0, 32)) : into;
  // A folder gets its name only once it is whole.
  if (byContents && existsSync(folder)) return folder;
  const partial = `${folder}.partial`;
  await mkdir(partial, { recursive: true });
  for (const [name, entry] of files) await fetchFile(from, partial, { name, ...entry }, signal);
  await writeFile(join(partial, Manifest.MANIFEST), Manifest.render(files));
  await rm(folder, { recursive: true, force: true });
  await rename(partial, folder);
  return folder;
};

const codes: Readonly<Record<string, FetchFailed["reason"]>> = {
  ENOSPC: "disk",
  EACCES: "disk",
  EROFS: "disk",
  EDQUOT: "disk",
};

/** Fetches a folder and returns its path. A folder named by its contents is fetched once. */
export const fetchFolder = (request: FetchRequest): Effect.Effect<string, FetchFailed> =>
  Effect.tryPromise({
    try: (signal) => fetchAll(request, signal),
    catch: (cause) => {
      if (cause instanceof FetchFailed) return cause;
      const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
      const why = cause instanceof Error ? cause.message || code : String(cause);
      return failed(codes[code] ?? "unreachable", `${request.from.url}: ${why}`);
    },
  });
