/**
 * Fetches a folder with a manifest over HTTP. Invariants: a folder appears under its name whole and with the checksums of its manifest, or not
 * at all; a file whose transfer broke off is asked for from where it stopped; a name never leads out of the folder.
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
import type { FetchRequest, Source } from "./protocol.ts";

/** `gone`: the server does not have it any more, or has another start of the run; asking again is of no use. */
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

/** A version is a few files: a connection for each would cost more than what small ones hold. */
const kept = { keepAlive: true, timeout: SILENT_MS };
const agent = new Agent(kept);
const secureAgent = new SecureAgent(kept);

/** An answer whose body is not read yet. */
const ask = async (
  { ca, token }: Source,
  url: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<IncomingMessage> => {
  const authority = ca === null ? {} : { ca: await readFile(ca) };
  const bearing = token === null ? headers : { ...headers, authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    const options = { headers: bearing, signal, timeout: SILENT_MS };
    const asked = url.startsWith("https:")
      ? secureRequest(url, { ...options, ...authority, agent: secureAgent }, resolve)
      : plainRequest(url, { ...options, agent }, resolve);
    asked.on("timeout", () => asked.destroy(new Error(`nothing came for ${SILENT_MS / 1_000} s`)));
    asked.on("error", reject);
    asked.end();
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

interface Wanted {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Takes the file up from what is there of it. */
const fetchFile = async (
  from: Source,
  folder: string,
  { bytes, name, sha256 }: Wanted,
  signal: AbortSignal,
): Promise<void> => {
  const url = `${from.url}/${name}`;
  const path = join(folder, name);
  for (let attempt = 0; ; attempt++) {
    const begun = await sizeOf(path);
    if (begun > bytes) await rm(path);
    else if (begun < bytes || bytes === 0) {
      const rest: Record<string, string> = begun === 0 ? {} : { range: `bytes=${begun}-`, "if-range": `"${sha256}"` };
      const answer = await ask(from, url, rest, signal);
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

/** What an adapter or a model is read from, beside what is known of it. */
const isWeights = (name: string): boolean => name.endsWith(".safetensors") || name === "adapter_config.json";

const fetchAll = async (
  { byContents, from, into, weightsOnly }: FetchRequest,
  signal: AbortSignal,
): Promise<string> => {
  const url = `${from.url}/${Manifest.MANIFEST}`;
  const answer = await ask(from, url, {}, signal);
  if (answer.statusCode !== 200) {
    answer.resume();
    throw statusFailure(url, answer.statusCode ?? 0);
  }
  const text = await textOf(answer, url);
  const entries = Manifest.parse(text);
  if (entries === undefined || ![...entries.keys()].every(isName)) {
    throw failed("damaged", `${url}: it is no list of files with their checksums`);
  }
  const wanted = new Map([...entries].filter(([name]) => !weightsOnly || isWeights(name)));
  const folder = byContents ? join(into, createHash("sha256").update(text).digest("hex").slice(0, 32)) : into;
  // The folder has its name only when it was whole.
  if (byContents && existsSync(folder)) return folder;
  const partial = `${folder}.partial`;
  await mkdir(partial, { recursive: true });
  for (const [name, entry] of wanted) await fetchFile(from, partial, { name, ...entry }, signal);
  await writeFile(join(partial, Manifest.MANIFEST), Manifest.render(wanted));
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

/** The folder that was asked for. By its contents it is not fetched twice. */
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
