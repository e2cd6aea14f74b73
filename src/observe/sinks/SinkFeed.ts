/**
 * Feeds one sink on its own fiber, from a bounded queue. Invariants: a sink that hangs, fails or is slow delays neither the run
 * nor another sink. An essential sink does hold the run, and fails it. At the end, all queued messages are written before the
 * sink is closed, within its deadline.
 */
import { Cause, Deferred, Effect, Fiber, Queue, Schedule, type Scope } from "effect";
import type { EpisodeRecord } from "../../domain/EpisodeRecord.ts";
import type { Event, StepRecord } from "../../domain/Event.ts";
import type { RunOutcome } from "../../domain/RunOutcome.ts";
import type { Bus, Sample } from "../../flow/Bus.ts";
import type { Unsubscribe } from "../../flow/Listeners.ts";
import { type Feeding, once, type RunInfo, type Sink, SinkError } from "./Sink.ts";

type Message =
  | { readonly _tag: "Step"; readonly record: StepRecord; readonly written?: Deferred.Deferred<void> }
  | { readonly _tag: "Event"; readonly event: Event }
  | { readonly _tag: "Sample"; readonly sample: Sample }
  | { readonly _tag: "Episodes"; readonly records: readonly EpisodeRecord[] };

const defaultFeeding: Feeding = {
  capacity: 1024,
  retry: Schedule.exponential("100 millis").pipe(Schedule.upTo({ times: 4 })),
  closeMs: 5_000,
};

/** A second try could write a line twice, so an essential sink has none. */
const feedingOf = ({ essential, feeding }: Sink): Feeding => ({
  ...defaultFeeding,
  ...(essential ? { capacity: 64, retry: once } : {}),
  ...feeding,
});

export interface FeedOptions {
  readonly sink: Sink;
  readonly run: RunInfo;
  readonly bus: typeof Bus.Service;
  /** Fails when an essential sink does. */
  readonly broken: Deferred.Deferred<never, SinkError>;
}

/** Opens the sink and starts to feed it. An essential sink is open when this returns, or `broken` has failed. */
export const start = (options: FeedOptions): Effect.Effect<SinkFeed, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { sink } = options;
    const feeding = feedingOf(sink);
    const queue = yield* Queue.make<Message, Cause.Done>({
      capacity: feeding.capacity,
      strategy: sink.essential ? "suspend" : "sliding",
    });
    const feed = new SinkFeed(options, feeding, queue);
    yield* feed.start;
    return feed;
  });

export class SinkFeed {
  readonly #options: FeedOptions;
  readonly #feeding: Feeding;
  readonly #queue: Queue.Queue<Message, Cause.Done>;
  #listening: readonly Unsubscribe[] = [];
  #fiber: Fiber.Fiber<boolean> | undefined;
  #lost = 0;

  constructor(options: FeedOptions, feeding: Feeding, queue: Queue.Queue<Message, Cause.Done>) {
    this.#options = options;
    this.#feeding = feeding;
    this.#queue = queue;
  }

  readonly start: Effect.Effect<void, never, Scope.Scope> = Effect.gen({ self: this }, function* () {
    const { bus, sink } = this.#options;
    this.#listening = this.#listen();
    if (sink.essential) bus.addStepWriter((record) => this.#writeStep(record));
    const opened = Deferred.makeUnsafe<void>();
    this.#fiber = yield* Effect.forkScoped(this.#feed(opened), { startImmediately: true });
    if (sink.essential) yield* Deferred.await(opened);
  });

  /** Writes the waiting messages and closes the sink, within its deadline. */
  close(outcome: RunOutcome): Effect.Effect<void> {
    const { sink } = this.#options;
    const { closeMs } = this.#feeding;
    const fiber = this.#fiber;
    if (fiber === undefined) return Effect.void;
    return Effect.gen({ self: this }, function* () {
      this.#stopListening();
      yield* Queue.end(this.#queue);
      if (yield* Fiber.join(fiber)) yield* this.#call(() => sink.close(outcome));
      if (this.#lost > 0)
        yield* Effect.logWarning(`${sink.name} was slower than the run and missed ${this.#lost} messages`);
    }).pipe(
      Effect.catchTag("SinkError", (error) => this.#fail(error)),
      Effect.timeoutOrElse({
        duration: closeMs,
        orElse: () =>
          Effect.logWarning(`${sink.name} did not end within ${closeMs} ms; ${this.#waiting()} messages are lost`),
      }),
      Effect.ensuring(Fiber.interrupt(fiber)),
    );
  }

  /** Opens the sink, then writes one message after the other until the queue ends; false if the sink has failed. */
  #feed(opened: Deferred.Deferred<void>): Effect.Effect<boolean> {
    const { run, sink } = this.#options;
    const tried = (call: () => Effect.Effect<void, SinkError>) => Effect.retry(this.#call(call), this.#feeding.retry);
    return tried(() => sink.open(run)).pipe(
      Effect.andThen(Deferred.succeed(opened, undefined)),
      Effect.andThen(
        Effect.forever(
          Effect.flatMap(Queue.take(this.#queue), (message) =>
            Effect.andThen(
              tried(() => write(sink, message)),
              acknowledge(message),
            ),
          ),
          { disableYield: true },
        ),
      ),
      Effect.catchIf(Cause.isDone, () => Effect.succeed(true)),
      Effect.catchTag("SinkError", (error) => Effect.as(this.#fail(error), false)),
      Effect.ensuring(Deferred.succeed(opened, undefined)),
    );
  }

  /** Calls the sink. An exception or a defect is a failure like any other. */
  #call(call: () => Effect.Effect<void, SinkError>): Effect.Effect<void, SinkError> {
    return Effect.catchDefect(Effect.suspend(call), (defect) => {
      const message = defect instanceof Error ? defect.message : String(defect);
      return Effect.fail(new SinkError({ sink: this.#options.sink.name, message }));
    });
  }

  #fail(error: SinkError): Effect.Effect<void> {
    const { broken, sink } = this.#options;
    this.#stopListening();
    return sink.essential
      ? Effect.asVoid(Deferred.fail(broken, error))
      : Effect.logWarning(`${sink.name} is switched off: ${error.message}`);
  }

  /** Listens to the messages that the sink has functions for. An essential sink gets its records through `#writeStep`. */
  #listen(): readonly Unsubscribe[] {
    const { bus, sink } = this.#options;
    const listening: Unsubscribe[] = [];
    if (!sink.essential) listening.push(bus.onStep((record) => this.#offer({ _tag: "Step", record })));
    if (sink.event !== undefined) listening.push(bus.onEvent((event) => this.#offer({ _tag: "Event", event })));
    if (sink.episodes !== undefined)
      listening.push(bus.onEpisodes((records) => this.#offer({ _tag: "Episodes", records })));
    if (sink.gauges !== undefined) listening.push(bus.onSample((sample) => this.#offer({ _tag: "Sample", sample })));
    return listening;
  }

  #stopListening(): void {
    for (const unsubscribe of this.#listening) unsubscribe();
  }

  /** Suspends until the sink has written the record. */
  #writeStep(record: StepRecord): Effect.Effect<void> {
    const written = Deferred.makeUnsafe<void>();
    return Effect.andThen(Queue.offer(this.#queue, { _tag: "Step", record, written }), Deferred.await(written));
  }

  #offer(message: Message): void {
    // A sample is worthless once there is a newer one, so a busy sink misses it.
    if (message._tag === "Sample" && this.#waiting() > 0) return;
    if (this.#waiting() >= this.#feeding.capacity) this.#lost++;
    Queue.offerUnsafe(this.#queue, message);
  }

  #waiting(): number {
    return Queue.sizeUnsafe(this.#queue);
  }
}

const write = (sink: Sink, message: Message): Effect.Effect<void, SinkError> => {
  switch (message._tag) {
    case "Step":
      return sink.step(message.record);
    case "Event":
      return sink.event?.(message.event) ?? Effect.void;
    case "Episodes":
      return sink.episodes?.(message.records) ?? Effect.void;
    case "Sample":
      return sink.gauges?.(message.sample) ?? Effect.void;
  }
};

const acknowledge = (message: Message): Effect.Effect<unknown> =>
  message._tag === "Step" && message.written !== undefined ? Deferred.succeed(message.written, undefined) : Effect.void;
