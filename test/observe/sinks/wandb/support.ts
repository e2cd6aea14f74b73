/** A sink in a temporary folder, what it left there, and a stand-in for W&B's server that checks what arrives. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect, Redacted } from "effect";
import type { EpisodeRecord } from "../../../../src/domain/EpisodeRecord.ts";
import type { Sink } from "../../../../src/observe/sinks/Sink.ts";
import { records } from "../../../../src/observe/sinks/wandb/Blocks.ts";
import { type Decoded, decode } from "../../../../src/observe/sinks/wandb/decode.ts";
import type { Http, HttpReply, HttpRequest } from "../../../../src/observe/sinks/wandb/Http.ts";
import { make, type WandbOptions } from "../../../../src/observe/sinks/wandb/Wandb.ts";
import { episodeRecord, stepRecord } from "../../../build/records.ts";

export const KEY = "0123456789abcdef0123456789abcdef01234567";

export const temporary = (): { readonly folder: string; readonly remove: () => void } => {
  const folder = mkdtempSync(join(tmpdir(), "wandb-"));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
};

export const section: WandbOptions["config"] = {
  mode: "offline",
  project: "millrace",
  entity: "team",
  group: "",
  tags: [],
  base_url: "http://127.0.0.1:9",
  group_tables: false,
  train_episodes: 8,
};

const machine = { host: "h", os: "linux", cpus: 2, memoryBytes: 2 ** 33 };

export const sinkWith = (over: Partial<WandbOptions> = {}): Sink =>
  make({ config: section, apiKey: null, version: "0.1.0", machine, ...over });

export const online = (http: Http, over: Partial<WandbOptions> = {}): Sink =>
  sinkWith({ config: { ...section, mode: "online" }, apiKey: Redacted.make(KEY), http, ...over });

/** Records the steps from `first` to `last`. */
export const steps = (sink: Sink, first: number, last: number) =>
  Effect.forEach(
    Array.from({ length: last - first + 1 }, (_, index) => first + index),
    (step) => sink.step(stepRecord(step, { "train/success": step / 10 })),
    { discard: true },
  );

export const episode = (
  split: "train" | "val",
  step: number,
  member = 0,
  changes: Partial<EpisodeRecord> = {},
): EpisodeRecord =>
  episodeRecord({
    step,
    split,
    group: step,
    member,
    tag: "Bandit",
    seed: 1000 + step,
    success: member === 0,
    reward: 1 - member,
    outcome: { _tag: "Done", success: member === 0 },
    messages: [
      { role: "user", content: "pull" },
      { role: "assistant", content: "<answer>A</answer>" },
    ],
    turns: [],
    ...changes,
  });

/** The one run folder in it. */
export const runFolder = (folder: string): string => {
  const names = readdirSync(join(folder, "wandb")).filter((name) => name.startsWith("offline-run-"));
  if (names.length !== 1) throw new Error(`run folders: ${names.join(", ")}`);
  return join(folder, "wandb", names[0]!);
};

export const wandbFile = (folder: string): string => {
  const at = runFolder(folder);
  return join(at, readdirSync(at).find((name) => name.endsWith(".wandb"))!);
};

export const entriesIn = async (path: string): Promise<readonly Decoded[]> => {
  const bytes = readFileSync(path);
  const source = { size: bytes.length, read: async (at: number, length: number) => bytes.subarray(at, at + length) };
  const entries: Decoded[] = [];
  for await (const { payload } of records(source)) {
    const entry = decode(payload);
    if (entry !== null) entries.push(entry);
  }
  return entries;
};

export const stepsIn = async (path: string): Promise<readonly number[]> =>
  (await entriesIn(path)).flatMap((entry) => (entry._tag === "History" ? [entry.step] : []));

/** The server's reaction to a request: an answer, or one of the ways in which servers fail. */
export type Fault =
  | "ok"
  | { readonly status: number; readonly retryAfter?: string; readonly text?: string }
  /** No answer ever comes. */
  | "hang"
  | "refuse"
  /** The request is taken, and the connection is cut before the answer. */
  | "cut";

interface Part {
  readonly offset: number;
  readonly content: readonly string[];
}

/** Keeps the lines that arrive, and what is wrong with them. */
export class StandIn {
  readonly requests: HttpRequest[] = [];
  readonly lines: Record<string, string[]> = {};
  readonly files: Record<string, string> = {};
  readonly configs: string[] = [];
  readonly alerts: Record<string, unknown>[] = [];
  readonly wrong: string[] = [];
  heartbeats = 0;
  exitCode: number | null = null;
  /** The reaction to request number `index`. */
  fault: (index: number, request: HttpRequest) => Fault = () => "ok";

  readonly http: Http = (request, signal) => {
    const fault = this.fault(this.requests.length, request);
    this.requests.push(request);
    if (fault === "hang")
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
    if (fault === "refuse") return Promise.reject(new TypeError("fetch failed", { cause: new Error("ECONNREFUSED") }));
    if (typeof fault === "object")
      return Promise.resolve({
        status: fault.status,
        headers: { "retry-after": fault.retryAfter },
        text: fault.text ?? "",
      });
    const reply = this.#take(request);
    return fault === "cut" ? Promise.reject(new Error("socket hang up")) : Promise.resolve(reply);
  };

  get history(): readonly number[] {
    return (this.lines["wandb-history.jsonl"] ?? []).map((line) => Number(/"_step":(\d+)/.exec(line)?.[1]));
  }

  #take({ body, headers, method, url }: HttpRequest): HttpReply {
    if (method === "PUT") {
      this.files[url.slice(url.indexOf("/upload/") + 8)] = Buffer.from(body).toString();
      if (headers.authorization !== undefined) this.wrong.push("the key went to an upload");
      return answer({});
    }
    const expected = `Basic ${Buffer.from(`api:${KEY}`).toString("base64")}`;
    if (headers.authorization !== expected) this.wrong.push(`authorization ${headers.authorization}`);
    const data = JSON.parse(String(body));
    if (url.endsWith("/graphql")) return this.#graphql(data, url.slice(0, -"/graphql".length));
    if (!url.endsWith("/file_stream")) this.wrong.push(url);
    if (Object.keys(data).length === 0) this.heartbeats++;
    for (const [name, part] of Object.entries<Part>(data.files ?? {})) this.#lines(name, part);
    if (data.complete === true) this.exitCode = data.exitcode;
    else if (this.exitCode !== null) this.wrong.push("data behind the end");
    return answer({});
  }

  #lines(name: string, { content, offset }: Part): void {
    this.lines[name] ??= [];
    const lines = this.lines[name];
    if (offset > lines.length) this.wrong.push(`${name}: a gap before ${offset}`);
    content.forEach((line, index) => {
      const earlier = lines[offset + index];
      if (name !== "wandb-summary.json" && earlier !== undefined && earlier !== line)
        this.wrong.push(`${name}: line ${offset + index} comes again with other content`);
      lines[offset + index] = line;
    });
  }

  #graphql({ query, variables }: { query: string; variables: Record<string, unknown> }, base: string): HttpReply {
    if (query.includes("upsertBucket")) {
      this.configs.push(String(variables.config));
      const project = { name: variables.project, entity: { name: variables.entity ?? "me" } };
      return answer({
        data: { upsertBucket: { bucket: { id: "x", name: variables.name, project }, inserted: true } },
      });
    }
    if (query.includes("notifyScriptableRunAlert")) {
      this.alerts.push(variables);
      return answer({ data: { notifyScriptableRunAlert: { success: true } } });
    }
    const names = variables.files;
    const files = Array.isArray(names) ? names.map((name) => ({ name, uploadUrl: `${base}/upload/${name}` })) : [];
    return answer({ data: { createRunFiles: { runID: "x", uploadHeaders: ["x-goog-meta: 1"], files } } });
  }
}

const answer = (value: unknown): HttpReply => ({ status: 200, headers: {}, text: JSON.stringify(value) });

/** Lets real file reads and fibers go on until it holds; the test clock stands still meanwhile. */
export const until = (holds: () => boolean): Effect.Effect<void> =>
  Effect.promise(async () => {
    for (let turns = 0; !holds(); turns++) {
      if (turns > 20_000) throw new Error("it never came to hold");
      await new Promise((resume) => setImmediate(resume));
    }
  });
