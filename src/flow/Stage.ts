/**
 * A stage has a name, a bounded inbox, a concurrency that may change while it runs, and one gauge. A flow stage takes items from its inbox
 * and offers results downstream, in order of completion. A service stage answers calls on their callers' fibers. Invariants: at most
 * `concurrency` items are at work; a finished item that waits for room downstream keeps its slot; growing starts waiting work at once,
 * shrinking lets running work finish.
 */
import { Deferred, Effect, Exit, type Scope } from "effect";
import type { Metrics } from "../domain/metrics/Metrics.ts";
import * as Permits from "./admission/Permits.ts";
import type { CallStart } from "./CallTimes.ts";
import { clockedGauge } from "./clockedGauge.ts";
import type * as Gauge from "./Gauge.ts";
import * as Inbox from "./Inbox.ts";
import { Listeners, type Subscribe } from "./Listeners.ts";

/** A named concurrency that can be changed while the run goes on. */
export interface Setting {
  readonly name: string;
  readonly concurrency: () => number;
  /** The most that it makes sense to set; null of a stage that works on one item at a time by nature. */
  readonly most: number | null;
  /** At least 1; a fraction is rounded down. */
  readonly setConcurrency: (concurrency: number) => Effect.Effect<void>;
}

/** The view of a stage that others get: its slots, which they may change, and its gauge. */
export interface StageHandle extends Setting {
  readonly sample: () => Gauge.StageSample;
  /** Calls back with every result, before it goes on; a listener holds nothing up. */
  readonly onOut: Subscribe<unknown>;
  /** Metrics that the stage measures beside its gauge. */
  readonly metrics?: () => Metrics;
}

/** The concurrency that a number stands for: at least 1, a fraction rounded down. */
export const atLeastOne = (concurrency: number): number => Math.max(1, Math.floor(concurrency));

// ---- flow stages ----

/** A flow stage; connected once (`Pipeline`). */
export interface Flow<in In, out Out, out E = never, out R = never> extends StageHandle {
  readonly inlet: Inbox.Inlet<In>;
  /** Works until the inbox is ended and drained, then ends `downstream`; null discards the results. */
  readonly runInto: (downstream: Inbox.Inlet<Out> | null) => Effect.Effect<void, E, R>;
  /** Takes no item any more, for good; suspends until what the stage holds has been passed on. */
  readonly halt: Effect.Effect<void>;
}

/** Options of `flow`. */
export interface FlowOptions<in In, out Out, out E, out R> {
  readonly name: string;
  /** Items that may wait in front of the stage. */
  readonly inbox: number;
  readonly concurrency: number;
  /** `done` keeps the stage upstream blocked until its item is done here; `queued` (the default) until it is in the inbox. */
  readonly handover?: Inbox.Handover;
  /** Null, the default, for a stage whose concurrency nobody should change. */
  readonly most?: number | null;
  /** A typed failure ends the whole pipeline. */
  readonly run: (item: In) => Effect.Effect<Out, E, R>;
}

/** A stage with one result per item. */
export const flow = <In, Out, E, R>(options: FlowOptions<In, Out, E, R>): Effect.Effect<Flow<In, Out, E, R>> =>
  make<In, Out, Out, E, R>({ ...options, forward: (result, deliver) => deliver(result), rest: null });

/** Options of `gather`. */
export interface GatherOptions<in In, out Out, out E, out R> {
  readonly name: string;
  readonly inbox: number;
  /** The results, if any, that one more item completes. */
  readonly run: (item: In) => Effect.Effect<readonly Out[], E, R>;
  /** Results that are still held when the input has ended. */
  readonly rest: Effect.Effect<readonly Out[], E, R>;
}

/** A many-to-one stage; its concurrency is 1 by nature. */
export const gather = <In, Out, E, R>(options: GatherOptions<In, Out, E, R>): Effect.Effect<Flow<In, Out, E, R>> =>
  make<In, readonly Out[], Out, E, R>({
    ...options,
    concurrency: 1,
    forward: (results, deliver) => Effect.forEach(results, deliver, { discard: true }),
  });

interface Options<In, Result, Out, E, R> extends FlowOptions<In, Result, E, R> {
  readonly forward: (result: Result, deliver: (out: Out) => Effect.Effect<void>) => Effect.Effect<void>;
  readonly rest: Effect.Effect<Result, E, R> | null;
}

const make = <In, Result, Out, E, R>(options: Options<In, Result, Out, E, R>): Effect.Effect<Flow<In, Out, E, R>> =>
  Effect.gen(function* () {
    const { handover = "queued", inbox: capacity, name } = options;
    const concurrency = atLeastOne(options.concurrency);
    const gauge = yield* clockedGauge({ name, kind: "flow", concurrency, capacity });
    return new FlowStage(options, { capacity, limit: concurrency, handover, gauge });
  });

class FlowStage<In, Result, Out, E, R> implements Flow<In, Out, E, R> {
  readonly name: string;
  readonly inlet: Inbox.Inlet<In>;
  readonly halt: Effect.Effect<void>;
  readonly onOut: Subscribe<unknown>;
  readonly most: number | null;
  readonly #options: Options<In, Result, Out, E, R>;
  readonly #gauge: Gauge.Gauge;
  readonly #inbox: Inbox.Inbox<In>;
  readonly #listeners = new Listeners<unknown>();
  readonly #done = Deferred.makeUnsafe<void, E>();
  #concurrency: number;
  #workers = 0;
  /** Forks a worker; null before the stage runs. */
  #fork: Effect.Effect<unknown> | null = null;

  constructor(options: Options<In, Result, Out, E, R>, inbox: Omit<Inbox.InboxOptions, "onDrained">) {
    this.name = options.name;
    this.most = options.most ?? null;
    this.#options = options;
    this.#gauge = inbox.gauge;
    this.#concurrency = inbox.limit;
    this.#inbox = new Inbox.Inbox<In>({ ...inbox, onDrained: () => void Deferred.doneUnsafe(this.#done, Effect.void) });
    this.inlet = this.#inbox;
    this.halt = this.#inbox.halt;
    this.onOut = this.#listeners.subscribe;
  }

  readonly sample = (): Gauge.StageSample => this.#gauge.sample();
  readonly concurrency = (): number => this.#concurrency;

  readonly setConcurrency = (next: number): Effect.Effect<void> =>
    Effect.suspend(() => {
      this.#concurrency = atLeastOne(next);
      this.#gauge.resized(this.#concurrency);
      this.#inbox.resize(this.#concurrency);
      return this.#hire();
    });

  readonly runInto = (downstream: Inbox.Inlet<Out> | null): Effect.Effect<void, E, R> =>
    Effect.scopedWith((scope) => this.#run(downstream, scope));

  readonly #run = Effect.fnUntraced(
    { self: this },
    function* (this: FlowStage<In, Result, Out, E, R>, downstream: Inbox.Inlet<Out> | null, scope: Scope.Scope) {
      if (this.#fork !== null) return yield* Effect.die(new Error(`stage ${this.name} is connected twice`));
      const context = yield* Effect.context<R>();
      const worker = this.#work(downstream).pipe(
        Effect.provideContext(context),
        Effect.onExit((exit) => (Exit.isFailure(exit) ? Deferred.failCause(this.#done, exit.cause) : Effect.void)),
      );
      this.#fork = Effect.forkIn(worker, scope);
      yield* this.#hire();
      yield* Deferred.await(this.#done);
      const { rest } = this.#options;
      if (rest !== null) yield* this.#options.forward(yield* rest, this.#deliver(downstream));
      if (downstream !== null) yield* downstream.end;
    },
  );

  /** Forks the workers that the concurrency lacks. Those above a smaller one stay in the inbox's line, ready for the next growth. */
  #hire(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      if (this.#fork === null) return;
      for (; this.#workers < this.#concurrency; this.#workers++) yield* this.#fork;
    });
  }

  #work(downstream: Inbox.Inlet<Out> | null): Effect.Effect<void, E, R> {
    const deliver = this.#deliver(downstream);
    return Effect.gen({ self: this }, function* () {
      for (let queued = yield* this.#inbox.take; queued !== Inbox.ended; queued = yield* this.#inbox.next(queued)) {
        const result = yield* this.#options.run(queued.item);
        this.#gauge.finished();
        yield* this.#options.forward(result, deliver);
        this.#gauge.delivered();
      }
    });
  }

  #deliver(downstream: Inbox.Inlet<Out> | null): (out: Out) => Effect.Effect<void> {
    return (out) => {
      this.#listeners.notify(out);
      return downstream === null ? Effect.void : downstream.offer(out);
    };
  }
}

// ---- service stages ----

/** A service stage: callers on any fiber suspend while `concurrency` calls are in service. */
export interface Service<in Request, out Response, out E = never, out R = never> extends StageHandle {
  readonly call: (request: Request) => Effect.Effect<Response, E, R>;
}

/** Options of `service`. */
export interface ServiceOptions<in Request, out Response, out E, out R> {
  readonly name: string;
  readonly concurrency: number;
  /** Calls at once that whoever answers them can take; 65 536 by default. */
  readonly most?: number;
  readonly run: (request: Request) => Effect.Effect<Response, E, R>;
}

/** A stage that answers calls on their callers' fibers. */
export const service = <Request, Response, E, R>({
  concurrency,
  most = 65_536,
  name,
  run,
}: ServiceOptions<Request, Response, E, R>): Effect.Effect<Service<Request, Response, E, R>> =>
  Effect.gen(function* () {
    const initial = atLeastOne(concurrency);
    const gauge = yield* clockedGauge({ name, kind: "service", concurrency: initial, capacity: 0 });
    const permits = Permits.makeUnsafe(initial);
    const leave = (timed: CallStart) =>
      Effect.sync(() => {
        gauge.callEnded(timed);
        gauge.delivered();
        permits.release();
      });
    const abandon = Effect.sync(() => gauge.abandoned());
    const listeners = new Listeners<unknown>();
    const publish = (response: Response): Response => {
      listeners.notify(response);
      return response;
    };
    const call = (request: Request): Effect.Effect<Response, E, R> =>
      Effect.uninterruptibleMask((restore) => {
        gauge.enqueued();
        return restore(permits.acquire).pipe(
          Effect.onInterrupt(() => abandon),
          Effect.flatMap(() => {
            const timed = gauge.callBegun();
            return Effect.ensuring(Effect.map(restore(run(request)), publish), leave(timed));
          }),
        );
      });
    return {
      name,
      most,
      call,
      onOut: listeners.subscribe,
      sample: () => gauge.sample(),
      concurrency: permits.limit,
      setConcurrency: (next) =>
        Effect.sync(() => {
          gauge.resized(atLeastOne(next));
          permits.resize(atLeastOne(next));
        }),
    };
  });
