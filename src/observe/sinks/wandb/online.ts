/** The stream of an offline run to a server: what it reads from the run's folder, and where it goes on after a resume. */
import { Effect, type Redacted } from "effect";
import type { RunConfig } from "../../../config/RunConfig.ts";
import { stream as random } from "../../../domain/Random.ts";
import { records } from "./Blocks.ts";
import { Client, ServerError } from "./Client.ts";
import { type Decoded, decode } from "./decode.ts";
import { upsert } from "./entries.ts";
import type { Folder } from "./Folder.ts";
import type { Http } from "./Http.ts";
import type { OfflineRun } from "./OfflineRun.ts";
import { type Batch, type EntrySource, Stream } from "./Stream.ts";

/** Bytes of a batch, about: a request stays small, and so does what a server that is away leaves in memory. */
const BATCH_BYTES = 512 * 1024;

const batch = async (folder: Folder, offset: number): Promise<Batch> => {
  const entries: Decoded[] = [];
  let end = offset;
  for await (const { end: behind, payload } of records(folder.source(), offset)) {
    const entry = decode(payload);
    if (entry !== null) entries.push(entry);
    end = behind;
    if (end - offset >= BATCH_BYTES) break;
  }
  return { entries, end };
};

const sourceOf = (folder: Folder): EntrySource => ({
  read: (offset) =>
    Effect.tryPromise({
      try: () => batch(folder, offset),
      catch: (cause) =>
        new ServerError({ message: `cannot read the run's file: ${String(cause)}`, again: false, afterMs: null }),
    }),
  file: (path) =>
    Effect.tryPromise(async () => new Uint8Array(await folder.readFile(path))).pipe(Effect.orElseSucceed(() => null)),
  // Without it a resumed run sends some lines again, under the same numbers.
  sent: (offset) => Effect.ignore(Effect.tryPromise(() => folder.noteSent(offset))),
});

export interface OnlineOptions {
  readonly config: RunConfig["metrics"]["wandb"];
  readonly apiKey: Redacted.Redacted;
  readonly http: Http;
  readonly seed: number;
  readonly warn: (message: string) => Effect.Effect<void>;
}

export const start = (offline: OfflineRun, options: OnlineOptions): Effect.Effect<Stream> => {
  const { entry, folder, kept } = offline;
  const { apiKey, config, http, seed, warn } = options;
  const draws = random({ seed, purpose: "jitter", counters: [Number.parseInt(entry.id, 36) % 2 ** 31] });
  return Stream.start({
    client: new Client({ baseUrl: config.base_url, apiKey, http }),
    source: sourceOf(folder),
    from: { offset: kept.sent, counts: kept.counts, summary: kept.summary.copy() },
    run: () => upsert(entry, offline.definitions.all),
    started: entry.started,
    jitter: draws.uniform,
    warn,
  });
};
