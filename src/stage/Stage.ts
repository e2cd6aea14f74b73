/**
 * A stage: a name, a bounded inbox, a concurrency that may change while it runs, one gauge. Two kinds: a flow stage takes items from
 * its inbox and offers results downstream (in order of completion; in order of arrival where the concurrency is 1); a service
 * stage answers calls on their callers' fibers. Invariants: never more than `concurrency` items at work; a finished item that waits
 * for room downstream keeps its slot; growing starts waiting work at once, shrinking lets running work finish.
 */
import { Deferred, Effect, Exit } from "effect";
import * as Gauge from "./Gauge.ts";
import * as Inbox from "./Inbox.ts";
import * as Slots from "./Slots.ts";

/** What can be seen of, and set on, any stage. */
export interface Dial {
  readonly name: string;
  readonly sample: () => Gauge.StageSample;
  readonly concurrency: () => number;
  /** At least 1; a fraction is rounded down. */
  readonly setConcurrency: (concurrency: number) => Effect.Effect<void>;
}

const atLeastOne = (concurrency: number): number => Math.max(1, Math.floor(concurrency));

// ---- flow stages ----

/** A flow stage; connected once (`Pipeline`). */
export interface Flow<in In, out Out, out E = never, out R = never> extends Dial {
  readonly inlet: Inbox.Inlet<In>;
  /** Works until the inbox is ended and drained, then ends `downstream`; null discards the results. */
  readonly runInto: (downstream: Inbox.Inlet<Out> | null) => Effect.Effect<void, E, R>;
}

export interface FlowOptions<in In, out Out, out E, out R> {
  readonly name: string;
  /** Items that may wait in front of the stage. */
  readonly inbox: number;
  readonly concurrency: number;
  /** Waited for by each item before its work, and counted as blocked: leave to work that only downstream gives. */
  readonly leave?: Effect.Effect<unknown>;
  /** A typed failure ends the whole pipeline. */
  readonly run: (item: In) => Effect.Effect<Out, E, R>;
}

/** A stage with one result per item. */
export const flow = <In, Out, E, R>(options: FlowOptions<In, Out, E, R>): Effect.Effect<Flow<In, Out, E, R>> =>
  make(options, (result, downstream) => downstream.offer(result), null);

export interface GatherOptions<in In, out Out, out E, out R> {
  readonly name: string;
  readonly inbox: number;
  /** The results, if any, that one more item completes. */
  readonly run: (item: In) => Effect.Effect<readonly Out[], E, R>;
  /** What is still held when the input has ended. */
  readonly rest: Effect.Effect<readonly Out[], E, R>;
}

/** A many-to-one stage; its concurrency is 1 by nature. */
export const gather = <In, Out, E, R>(options: GatherOptions<In, Out, E, R>): Effect.Effect<Flow<In, Out, E, R>> =>
  make<In, readonly Out[], Out, E, R>(
    { ...options, concurrency: 1 },
    (results, downstream) => Effect.forEach(results, downstream.offer, { discard: true }),
    options.rest,
  );

const make = <In, Result, Out, E, R>(
  options: FlowOptions<In, Result, E, R>,
  forward: (result: Result, downstream: Inbox.Inlet<Out>) => Effect.Effect<void>,
  rest: Effect.Effect<Result, E, R> | null,
): Effect.Effect<Flow<In, Out, E, R>> =>
  Effect.gen(function* () {
    const { leave, name, run } = options;
    let concurrency = atLeastOne(options.concurrency);
    const gauge = yield* Gauge.make({ name, kind: "flow", concurrency, capacity: options.inbox });
    const done = Deferred.makeUnsafe<void, E>();
    const inbox = Inbox.makeUnsafe<In>({
      capacity: options.inbox,
      limit: concurrency,
      gauge,
      drained: () => void Deferred.doneUnsafe(done, Effect.void),
    });
    // Forks the workers that a larger concurrency lacks; does nothing before the stage runs. Workers above a smaller
    // concurrency stay parked in the inbox, ready for the next growth.
    let staff: Effect.Effect<void> = Effect.void;
    let connected = false;

    const worker = (downstream: Inbox.Inlet<Out> | null): Effect.Effect<void, E, R> =>
      Effect.gen(function* () {
        for (let item = yield* inbox.take; item !== Inbox.ended; item = yield* inbox.next) {
          if (leave !== undefined) {
            gauge.finished();
            yield* leave;
            gauge.resumed();
          }
          const result = yield* run(item);
          gauge.finished();
          if (downstream !== null) yield* forward(result, downstream);
          gauge.delivered();
        }
      });

    const runInto = (downstream: Inbox.Inlet<Out> | null): Effect.Effect<void, E, R> =>
      Effect.scopedWith((scope) =>
        Effect.gen(function* () {
          if (connected) return yield* Effect.die(new Error(`stage ${name} is connected twice`));
          connected = true;
          const context = yield* Effect.context<R>();
          const supervised = worker(downstream).pipe(
            Effect.provideContext(context),
            Effect.onExit((exit) => (Exit.isFailure(exit) ? Deferred.failCause(done, exit.cause) : Effect.void)),
          );
          let workers = 0;
          staff = Effect.gen(function* () {
            for (; workers < concurrency; workers++) yield* Effect.forkIn(supervised, scope);
          });
          yield* staff;
          yield* Deferred.await(done);
          if (rest !== null && downstream !== null) yield* forward(yield* rest, downstream);
          if (downstream !== null) yield* downstream.end;
        }),
      );

    return {
      name,
      inlet: inbox,
      runInto,
      sample: () => gauge.sample(),
      concurrency: () => concurrency,
      setConcurrency: (next) =>
        Effect.suspend(() => {
          concurrency = atLeastOne(next);
          gauge.resized(concurrency);
          inbox.resize(concurrency);
          return staff;
        }),
    };
  });

// ---- service stages ----

/** A service stage: callers on any fiber suspend while `concurrency` calls are in service. */
export interface Service<in Request, out Response, out E = never, out R = never> extends Dial {
  readonly call: (request: Request) => Effect.Effect<Response, E, R>;
}

export interface ServiceOptions<in Request, out Response, out E, out R> {
  readonly name: string;
  readonly concurrency: number;
  readonly run: (request: Request) => Effect.Effect<Response, E, R>;
}

export const service = <Request, Response, E, R>(
  options: ServiceOptions<Request, Response, E, R>,
): Effect.Effect<Service<Request, Response, E, R>> =>
  Effect.gen(function* () {
    const { name, run } = options;
    const initial = atLeastOne(options.concurrency);
    const gauge = yield* Gauge.make({ name, kind: "service", concurrency: initial, capacity: 0 });
    const slots = Slots.makeUnsafe(initial);
    const leave = Effect.sync(() => {
      gauge.finished();
      gauge.delivered();
      slots.release();
    });
    const abandon = Effect.sync(() => gauge.abandoned());
    const call = (request: Request): Effect.Effect<Response, E, R> =>
      Effect.uninterruptibleMask((restore) => {
        gauge.enqueued();
        return restore(slots.acquire).pipe(
          Effect.onInterrupt(() => abandon),
          Effect.flatMap(() => {
            gauge.begun();
            return Effect.ensuring(restore(run(request)), leave);
          }),
        );
      });
    return {
      name,
      call,
      sample: () => gauge.sample(),
      concurrency: slots.limit,
      setConcurrency: (next) =>
        Effect.sync(() => {
          gauge.resized(atLeastOne(next));
          slots.resize(atLeastOne(next));
        }),
    };
  });
