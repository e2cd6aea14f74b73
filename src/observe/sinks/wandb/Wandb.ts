/**
 * The Weights & Biases sink: a folder that W&B's tools read and upload, and with mode `online` and a key a stream to the server beside it.
 * Invariant: the folder never waits for the server, and nothing that the server does reaches the run.
 */
import { availableParallelism, hostname, platform, release, totalmem } from "node:os";
import { Clock, Effect, type Redacted } from "effect";
import type { RunConfig } from "../../../config/RunConfig.ts";
import { sentencesOf, titleLine } from "../../../domain/alarms/text.ts";
import type { RunOutcome } from "../../../domain/RunOutcome.ts";
import { once, type RunInfo, type Sink, SinkError } from "../Sink.ts";
import { noticeText, outcomeText } from "../View.ts";
import { type Http, overFetch } from "./Http.ts";
import { OfflineRun } from "./OfflineRun.ts";
import * as Online from "./online.ts";
import { FINISH_MS, type Stream } from "./Stream.ts";
import type { Machine } from "./System.ts";

export interface WandbOptions {
  readonly config: RunConfig["metrics"]["wandb"];
  /** WANDB_API_KEY; null where it is not set. */
  readonly apiKey: Redacted.Redacted | null;
  /** Millrace's version. */
  readonly version: string;
  readonly http?: Http;
  readonly machine?: Machine;
}

const name = "wandb";
const FOLDER_MS = 3_000;

const thisMachine = (): Machine => ({
  host: hostname(),
  os: `${platform()} ${release()}`,
  cpus: availableParallelism(),
  memoryBytes: totalmem(),
});

const attempt = <A>(what: string, run: () => Promise<A>): Effect.Effect<A, SinkError> =>
  Effect.tryPromise({
    try: run,
    catch: (cause) =>
      new SinkError({
        sink: name,
        message: `cannot ${what}: ${cause instanceof Error ? cause.message : String(cause)}`,
      }),
  });

const warn = (message: string): Effect.Effect<void> => Effect.logWarning(`Weights & Biases: ${message}`);

const exitCodeOf = ({ _tag }: RunOutcome): number => (_tag === "Failed" ? 1 : 0);

class WandbSink implements Sink {
  readonly name = name;
  readonly essential = false;
  /** A write that failed in its middle is not made again: what comes twice could not be told apart. */
  readonly feeding = { closeMs: FINISH_MS + FOLDER_MS, retry: once };
  readonly #options: WandbOptions;
  #offline: OfflineRun | null = null;
  #stream: Stream | null = null;

  constructor(options: WandbOptions) {
    this.#options = options;
  }

  open(run: RunInfo): Effect.Effect<void, SinkError> {
    const { config, machine = thisMachine(), version } = this.#options;
    const { entity, group, group_tables, project, tags, train_episodes } = config;
    const labels = { entity, group, project, tags };
    return Effect.gen({ self: this }, function* () {
      const options = { run, labels, trainEpisodes: train_episodes, groupTables: group_tables, machine, version };
      const offline = yield* attempt(`write to ${run.folder}`, () => OfflineRun.open(options));
      this.#offline = offline;
      if (config.mode === "online") yield* this.#connect(offline, run);
    });
  }

  #connect(offline: OfflineRun, { seed }: RunInfo): Effect.Effect<void> {
    const { apiKey, config, http = overFetch } = this.#options;
    const { path } = offline.folder.place;
    if (apiKey === null)
      return warn(`mode is online, but WANDB_API_KEY is not set; the run is written to ${path}, for \`wandb sync\``);
    return Effect.map(Online.start(offline, { config, apiKey, http, seed, warn }), (stream) => {
      this.#stream = stream;
    });
  }

  readonly step: Sink["step"] = (record) => this.#write((offline) => offline.step(record));
  readonly gauges: NonNullable<Sink["gauges"]> = (sample) => this.#write((offline) => offline.gauges(sample));
  readonly episodes: NonNullable<Sink["episodes"]> = (records) =>
    this.#write(async (offline) => offline.episodes(records));

  readonly event: NonNullable<Sink["event"]> = (event) => {
    const notice = noticeText(event);
    this.#offline?.event(event);
    if (notice === null) return Effect.void;
    return Effect.flatMap(Clock.currentTimeMillis, (now) =>
      this.#write(async (offline) => {
        await offline.print(notice, now);
        if (event._tag === "AlarmRaised") await offline.alert(titleLine(event), sentencesOf(event).join("\n"));
      }),
    );
  };

  #write(work: (offline: OfflineRun) => Promise<void>): Effect.Effect<void, SinkError> {
    const offline = this.#offline;
    if (offline === null) return Effect.void;
    return Effect.andThen(
      // A sink that failed gets no more calls, not even `close`, so its stream stops here.
      Effect.tapError(
        attempt(`write to ${offline.folder.place.path}`, () => work(offline)),
        () => this.#stop,
      ),
      Effect.suspend(() => this.#stream?.notify ?? Effect.void),
    );
  }

  close(outcome: RunOutcome): Effect.Effect<void, SinkError> {
    const offline = this.#offline;
    if (offline === null) return Effect.void;
    const code = exitCodeOf(outcome);
    return Effect.gen({ self: this }, function* () {
      const now = yield* Clock.currentTimeMillis;
      yield* this.#write(async (open) => {
        await open.end(outcomeText(outcome), code, now);
        await open.folder.flush();
      });
      yield* this.#deliver(offline, code);
    }).pipe(Effect.ensuring(this.#stop));
  }

  get #stop(): Effect.Effect<void> {
    return this.#stream?.stop ?? Effect.void;
  }

  #deliver(offline: OfflineRun, code: number): Effect.Effect<void> {
    const { folder } = offline;
    if (this.#stream === null) return Effect.void;
    return Effect.flatMap(this.#stream.finish(code), (delivery) =>
      delivery._tag === "Whole"
        ? Effect.ignore(attempt("mark", () => folder.markSynced()))
        : warn(
            `not all of the run was delivered (${delivery.reason}); \`wandb sync ${folder.place.path}\` sends the whole of it`,
          ),
    );
  }
}

export const make = (options: WandbOptions): Sink => new WandbSink(options);
