/**
 * Sends a run to W&B's server while it goes on, from the offline file, on its own fiber. The file is the buffer: unsent lines
 * wait there, and only one batch is in memory. Invariants: only `finish` waits for the stream, and not beyond its deadline. A
 * line has the same number in every attempt.
 */
import { Deferred, Effect, Fiber, Queue } from "effect";
import { type RetryPolicy, retry } from "../../../support/http/retry.ts";
import type { Client, RemoteRun, RunUpsert, ServerError } from "./Client.ts";
import type { Decoded } from "./decode.ts";
import { bodyOf, type Counts, completion, heartbeat, type StreamOptions } from "./FileStream.ts";
import { type Latest, textOf } from "./Json.ts";

/** Entries behind an offset. */
export interface Batch {
  readonly entries: readonly Decoded[];
  /** Offset behind them. */
  readonly end: number;
}

/** The source of the entries, which is also told how far they were sent. */
export interface EntrySource {
  /** Some of the entries behind `offset`; none where there are no more. */
  readonly read: (offset: number) => Effect.Effect<Batch, ServerError>;
  /** A file of the run. */
  readonly file: (path: string) => Effect.Effect<Uint8Array<ArrayBuffer> | null>;
  /** The server has all before `offset`. */
  readonly sent: (offset: number) => Effect.Effect<void>;
}

export interface StreamStart {
  readonly offset: number;
  readonly counts: Counts;
  readonly summary: Latest;
}

export interface UploadOptions extends StreamOptions {
  readonly client: Client;
  readonly source: EntrySource;
  readonly from: StreamStart;
  /** The run as it is when the server is first reached. */
  readonly run: () => RunUpsert;
  /** Uniform in [0, 1); spreads the tries of several runs. */
  readonly jitter: () => number;
  readonly warn: (message: string) => Effect.Effect<void>;
}

/** The delivery of a run to the server. */
export type Delivery = { readonly _tag: "Whole" } | { readonly _tag: "Part"; readonly reason: string };

/** Waits, milliseconds. */
const wait = { between: 15_000, heartbeat: 30_000, closing: 250 } as const;
/** The retry of a failed request: after 2 s, then twice that, and so on up to a minute, each plus or minus a quarter. */
const policy: RetryPolicy = { firstMs: 2_500, longestMs: 75_000, jitter: 0.4 };
/** Time that the end of a run may take. */
export const FINISH_MS = 4_000;
/** Tries of a file: the lines do not wait for it longer. */
const FILE_TRIES = 3;
const ALERT_TRIES = 3;

export class Stream {
  readonly #options: UploadOptions;
  readonly #more: Queue.Queue<void>;
  readonly #closing = Deferred.makeUnsafe<number>();
  #fiber: Fiber.Fiber<void, ServerError> | undefined;
  #offset: number;
  readonly #counts: Counts;
  readonly #summary: Latest;
  /** Why the last try failed; null after one that did not. */
  #trouble: string | null = null;
  #filesLost = 0;

  private constructor(options: UploadOptions, more: Queue.Queue<void>) {
    this.#options = options;
    this.#more = more;
    this.#offset = options.from.offset;
    this.#counts = options.from.counts.copy();
    this.#summary = options.from.summary;
  }

  static start(options: UploadOptions): Effect.Effect<Stream> {
    return Effect.gen(function* () {
      const stream = new Stream(options, yield* Queue.sliding<void>(1));
      stream.#fiber = yield* Effect.forkDetach(stream.#work);
      return stream;
    });
  }

  /** There is more to read. */
  readonly notify: Effect.Effect<void> = Effect.suspend(() => Effect.asVoid(Queue.offer(this.#more, undefined)));

  /** Sends what waits, says that the run has ended, and ends. */
  finish(code: number): Effect.Effect<Delivery> {
    const fiber = this.#fiber;
    if (fiber === undefined) return Effect.succeed({ _tag: "Part", reason: "it was never started" });
    const whole: Effect.Effect<Delivery, ServerError> = Effect.as(Fiber.join(fiber), { _tag: "Whole" });
    return Deferred.succeed(this.#closing, code).pipe(
      Effect.andThen(whole),
      Effect.catchTag("ServerError", ({ message }) => Effect.succeed<Delivery>({ _tag: "Part", reason: message })),
      Effect.timeoutOrElse({
        duration: FINISH_MS,
        orElse: () => Effect.succeed<Delivery>({ _tag: "Part", reason: this.#trouble ?? "the server is slow" }),
      }),
      Effect.map((delivery) => this.#withFiles(delivery)),
      Effect.ensuring(this.stop),
    );
  }

  /** Ends at once, whatever waits. */
  readonly stop: Effect.Effect<void> = Effect.suspend(() =>
    this.#fiber === undefined ? Effect.void : Effect.asVoid(Effect.forkDetach(Fiber.interrupt(this.#fiber))),
  );

  #withFiles(delivery: Delivery): Delivery {
    if (delivery._tag === "Part" || this.#filesLost === 0) return delivery;
    const files = this.#filesLost === 1 ? "a file" : `${this.#filesLost} files`;
    return { _tag: "Part", reason: `${files} could not be uploaded` };
  }

  readonly #work: Effect.Effect<void, ServerError> = Effect.gen({ self: this }, function* () {
    const { client, run } = this.#options;
    const remote = yield* this.#persistently(Effect.suspend(() => client.upsert(run())));
    let described = describedBy(run());
    for (;;) {
      const now = describedBy(run());
      if (now !== described) yield* this.#persistently(client.upsert(run()));
      described = now;
      const more = yield* this.#next(remote);
      if (more) continue;
      if (yield* Deferred.isDone(this.#closing)) break;
    }
    const code = yield* Deferred.await(this.#closing);
    yield* this.#persistently(client.stream(remote, completion(code)));
  }).pipe(Effect.tapError(({ message }) => this.#giveUp(message)));

  /** Sends the next batch, or waits for one; whether there was one. */
  #next(remote: RemoteRun): Effect.Effect<boolean, ServerError> {
    const { client, source } = this.#options;
    return Effect.gen({ self: this }, function* () {
      const { end, entries } = yield* source.read(this.#offset);
      if (end === this.#offset) {
        if (yield* this.#idle) yield* this.#persistently(client.stream(remote, heartbeat));
        return false;
      }
      yield* this.#files(remote, entries);
      const after = this.#counts.copy();
      for (const entry of entries) {
        if (entry._tag === "Summary") this.#summary.add(entry.items);
        after.add(entry);
      }
      const body = bodyOf(entries, this.#counts, this.#summary, this.#options);
      if (body.files !== undefined) yield* this.#persistently(client.stream(remote, textOf(body)));
      yield* this.#alerts(remote, entries);
      Object.assign(this.#counts, after);
      this.#offset = end;
      yield* source.sent(end);
      // The server asks for few requests: lines that come meanwhile go together.
      yield* this.#unlessClosing(wait.between);
      return true;
    });
  }

  /** Waits for more to read; true where it is time to show that the run is alive. */
  get #idle(): Effect.Effect<boolean> {
    return Effect.raceFirst(
      Effect.as(Effect.raceFirst(Queue.take(this.#more), Deferred.await(this.#closing)), false),
      Effect.as(Effect.sleep(wait.heartbeat), true),
    );
  }

  #files(remote: RemoteRun, entries: readonly Decoded[]): Effect.Effect<void> {
    const { client, source } = this.#options;
    const paths = entries.flatMap((entry) => (entry._tag === "Files" ? entry.paths : []));
    const send = (path: string) =>
      Effect.flatMap(source.file(path), (bytes) =>
        bytes === null ? Effect.void : this.#persistently(client.upload(remote, path, bytes), FILE_TRIES),
      );
    return Effect.forEach(
      paths,
      (path) =>
        Effect.catchTag(send(path), "ServerError", () =>
          Effect.sync(() => {
            this.#filesLost++;
          }),
        ),
      { discard: true },
    );
  }

  /** An alert that the server refuses is left out: the run's lines matter more. */
  #alerts(remote: RemoteRun, entries: readonly Decoded[]): Effect.Effect<void> {
    const { client } = this.#options;
    const alerts = entries.flatMap((entry) => (entry._tag === "Alert" ? [entry] : []));
    return Effect.forEach(
      alerts,
      (entry) => Effect.ignore(this.#persistently(client.alert(remote, entry), ALERT_TRIES)),
      { discard: true },
    );
  }

  /** Tries until it succeeds, or until trying again cannot help. The first failure of a series is reported. */
  #persistently<A>(call: Effect.Effect<A, ServerError>, tries?: number): Effect.Effect<A, ServerError> {
    const limited: RetryPolicy = tries === undefined ? policy : { ...policy, maxRetries: tries - 1 };
    return retry(call, limited, {
      isRetryable: ({ again }) => again,
      serverWaitMs: ({ afterMs }) => afterMs,
      uniform: this.#options.jitter,
      wait: (ms, { message }) => Effect.andThen(this.#reportTrouble(message), this.#pause(ms)),
    }).pipe(
      Effect.tap(() =>
        Effect.sync(() => {
          this.#trouble = null;
        }),
      ),
    );
  }

  #reportTrouble(message: string): Effect.Effect<void> {
    const first = this.#trouble === null;
    this.#trouble = message;
    const { client, warn } = this.#options;
    return first ? warn(`${client.address}: ${message}; the run goes on, and what waits is sent later`) : Effect.void;
  }

  #giveUp(message: string): Effect.Effect<void> {
    this.#trouble = message;
    return this.#options.warn(`${this.#options.client.address}: ${message}; nothing more is sent`);
  }

  /** Once the run ends, there is no time to wait long. */
  #pause(ms: number): Effect.Effect<void> {
    return Effect.flatMap(Deferred.isDone(this.#closing), (closing) =>
      closing ? Effect.sleep(wait.closing) : this.#unlessClosing(ms),
    );
  }

  #unlessClosing(ms: number): Effect.Effect<void> {
    return Effect.raceFirst(Effect.sleep(ms), Effect.asVoid(Deferred.await(this.#closing)));
  }
}

/** The part of a run's description that is sent again after a change. */
const describedBy = ({ config }: RunUpsert): string => config;
