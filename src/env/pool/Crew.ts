/**
 * The environment threads of a run: those that are free, and those that are started when someone waits for one. Invariants: no more than
 * `most` are alive at once; a thread that is taken is given back or discarded once; all are ended with the scope. Once there is
 * trouble, one more than are in use is kept ready, so that the next loss costs no start.
 */
import { Deferred, Effect, type Scope } from "effect";
import { Thread, ThreadLost } from "./Thread.ts";
import type { Setup } from "./worker.ts";

export interface CrewOptions {
  readonly setup: Pick<Setup, "registry" | "presets">;
  /** Threads started at first. */
  readonly threads: number;
  readonly most: number;
}

/** Starts that may fail one after the other before those who wait are told. */
const attempts = 3;

export class Crew {
  readonly #options: CrewOptions;
  readonly #fork: (effect: Effect.Effect<void>) => void;
  readonly #alive = new Set<Thread>();
  readonly #free: Thread[] = [];
  /** Those that gave way to all others. */
  readonly #slow: Thread[] = [];
  readonly #waiting: Deferred.Deferred<Thread, ThreadLost>[] = [];
  #troubled = false;
  #starting = 0;
  #failed = 0;
  #lost = 0;
  #strays = 0;

  constructor(options: CrewOptions, fork: (effect: Effect.Effect<void>) => void) {
    this.#options = options;
    this.#fork = fork;
  }

  /** Threads lost to hangs and crashes so far. */
  lost(): number {
    return this.#lost;
  }

  /** Errors outside of any step so far. */
  strays(): number {
    return [...this.#alive].reduce((sum, thread) => sum + thread.strays(), this.#strays);
  }

  #from(idle: Thread[]): Thread | undefined {
    for (let thread = idle.pop(); thread !== undefined; thread = idle.pop()) {
      if (!thread.lost()) return thread;
      this.discard(thread);
    }
    return undefined;
  }

  /** A thread that gave way to all others, or another where there is none. */
  readonly takeSlow: Effect.Effect<Thread, ThreadLost> = Effect.suspend(() => {
    const thread = this.#from(this.#slow);
    return thread === undefined ? this.take : Effect.succeed(thread);
  });

  /** A thread for one batch at a time; fails where none can be started. */
  readonly take: Effect.Effect<Thread, ThreadLost> = Effect.suspend(() => {
    const free = this.#from(this.#free);
    if (free !== undefined) return Effect.succeed(free);
    const mine = Deferred.makeUnsafe<Thread, ThreadLost>();
    this.#waiting.push(mine);
    this.#startWanted();
    return Effect.onInterrupt(Deferred.await(mine), () => this.#giveUp(mine));
  });

  #giveUp(mine: Deferred.Deferred<Thread, ThreadLost>): Effect.Effect<void> {
    return Effect.suspend(() => {
      const at = this.#waiting.indexOf(mine);
      if (at >= 0) this.#waiting.splice(at, 1);
      // It may have been given a thread already.
      return at >= 0 ? Effect.void : Effect.ignore(Effect.map(Deferred.await(mine), (thread) => this.give(thread)));
    });
  }

  give(thread: Thread): void {
    if (thread.lost()) this.discard(thread);
    else if (thread.yields()) this.#retire(thread);
    else this.#serve(thread);
  }

  #retire(thread: Thread): void {
    this.#slow.push(thread);
    this.#startWanted();
  }

  #serve(thread: Thread): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(thread);
    else Deferred.doneUnsafe(next, Effect.succeed(thread));
  }

  /** One more is kept ready from here on. */
  troubled(): void {
    this.#troubled = true;
    this.#startWanted();
  }

  /** Ends a thread that is lost. */
  discard(thread: Thread): void {
    this.#lost++;
    this.#troubled = true;
    this.#end(thread);
  }

  #end(thread: Thread): void {
    this.#forget(thread);
    this.#startWanted();
  }

  #forget(thread: Thread): void {
    this.#alive.delete(thread);
    this.#strays += thread.strays();
    this.#fork(thread.end);
  }

  /** Those who wait need threads that keep up: idle ones that gave way make room for them. */
  #makeRoom(threads: number): void {
    for (let room = this.#options.most - this.#alive.size; room < threads; room++) {
      const thread = this.#slow.pop();
      if (thread === undefined) return;
      this.#forget(thread);
    }
  }

  #startWanted(): void {
    const spare = this.#troubled ? 1 : 0;
    let wanted = this.#waiting.length + spare - this.#free.length - this.#starting;
    this.#makeRoom(this.#waiting.length - this.#starting);
    for (; wanted > 0 && this.#alive.size < this.#options.most; wanted--) {
      this.#starting++;
      this.#fork(Effect.matchEffect(this.#open(), { onSuccess: this.#opened, onFailure: this.#unopened }));
    }
  }

  #open(): Effect.Effect<Thread, ThreadLost> {
    return Effect.suspend(() => {
      const thread = new Thread(this.#options.setup);
      this.#alive.add(thread);
      return Effect.flatMap(
        Effect.promise(() => thread.post([], { careful: false, limitMs: null, again: false })),
        (loaded) => {
          if (!(loaded instanceof ThreadLost)) return Effect.succeed(thread);
          this.#alive.delete(thread);
          return Effect.andThen(thread.end, Effect.fail(loaded));
        },
      );
    });
  }

  readonly #opened = (thread: Thread): Effect.Effect<void> =>
    Effect.sync(() => {
      this.#starting--;
      this.#failed = 0;
      this.give(thread);
    });

  readonly #unopened = (why: ThreadLost): Effect.Effect<void> =>
    Effect.sync(() => {
      this.#starting--;
      if (++this.#failed < attempts) return this.#startWanted();
      this.#failed = 0;
      for (const waiting of this.#waiting.splice(0)) Deferred.doneUnsafe(waiting, Effect.fail(why));
    });

  /** Starts the first threads; fails with why one of them cannot load. */
  readonly start: Effect.Effect<void, ThreadLost> = Effect.suspend(() =>
    Effect.forEach(
      Array.from({ length: this.#options.threads }),
      () => Effect.map(this.#open(), (thread) => this.give(thread)),
      { concurrency: "unbounded", discard: true },
    ),
  );

  readonly endAll: Effect.Effect<void> = Effect.suspend(() =>
    Effect.forEach([...this.#alive], (thread) => thread.end, { concurrency: "unbounded", discard: true }),
  );
}

/** A crew whose first threads have loaded. */
export const make = (
  options: CrewOptions,
  fork: (effect: Effect.Effect<void>) => void,
): Effect.Effect<Crew, ThreadLost, Scope.Scope> =>
  Effect.gen(function* () {
    const crew = yield* Effect.acquireRelease(
      Effect.sync(() => new Crew(options, fork)),
      ({ endAll }) => endAll,
    );
    yield* crew.start;
    return crew;
  });
