/**
 * Runs an Effect program in virtual time, where a seed decides which ready task runs next, where a fiber yields between two operations, and
 * in which order simultaneous timers fire. Invariant: the clock moves only when no task is ready and no file is being read or written.
 */
import { Clock, Context, Duration, Effect, type Exit, Fiber, Scheduler } from "effect";
import type { Random } from "../../src/domain/Random.ts";

type Task = () => void;

interface Timer {
  readonly at: number;
  readonly fire: Task;
}

/** A run of more tasks than this does not come to an end. */
const mostTasks = 2_000_000;

/** Nothing can end the program: it is deadlocked, or goes round in circles. */
export class Endless extends Error {
  override readonly name = "Endless";
}

export interface RuntimeOptions {
  readonly random: Random;
  /** Mean number of operations after which a fiber yields; 0 where fibers yield only when they wait. */
  readonly yieldEvery: number;
  /** Virtual milliseconds after which a program that still runs is deadlocked. */
  readonly deadlineMs: number;
}

export class SeededRuntime {
  readonly #options: RuntimeOptions;
  readonly #ready: Task[] = [];
  readonly #timers = new Set<Timer>();
  #now = 0;
  #tasks = 0;
  #untilYield: number;

  constructor(options: RuntimeOptions) {
    this.#options = options;
    this.#untilYield = this.#drawYield();
  }

  /** Virtual milliseconds since the start. */
  readonly now = (): number => this.#now;

  /** Calls back after so many virtual milliseconds. */
  after(ms: number, fire: Task): Task {
    const timer = { at: this.#now + ms, fire };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Runs the program to its end; fails with `Endless` if it has none. */
  async run<A, E>(program: Effect.Effect<A, E>): Promise<Exit.Exit<A, E>> {
    const services = Context.make(Scheduler.Scheduler, this.#scheduler()).pipe(Context.add(Clock.Clock, this.#clock()));
    const fiber = Effect.runForkWith(services)(program);
    let exit: Exit.Exit<A, E> | undefined;
    fiber.addObserver((result) => {
      exit = result;
    });
    const problem = await this.#pump(() => exit !== undefined);
    if (problem === null) return exit!;
    // The interruption of a deadlocked program may itself wait forever, so it is given one more pump and no more.
    Effect.runForkWith(services)(Fiber.interrupt(fiber));
    await this.#drain();
    throw new Endless(problem);
  }

  async #pump(isDone: () => boolean): Promise<string | null> {
    for (;;) {
      await this.#drain();
      if (isDone()) return null;
      if (this.#tasks > mostTasks) return `it ran ${mostTasks} tasks without an end`;
      const next = this.#nextTime();
      if (next === undefined) return `nothing is ready at ${this.#now} ms, and nothing waits for a time`;
      if (next > this.#options.deadlineMs) return `nothing happens after ${this.#now} ms`;
      this.#fireTimers(next);
    }
  }

  /** Runs ready tasks in seeded order until there is none and no file is in use. */
  async #drain(): Promise<void> {
    do {
      while (this.#ready.length > 0 && this.#tasks <= mostTasks) {
        this.#runOne();
        // Microtasks wake fibers too: whether they do so before the next task is a seeded choice.
        if (this.#options.random.int(2) === 0) await null;
      }
      await turnOfTheLoop();
    } while (this.#ready.length > 0 ? this.#tasks <= mostTasks : isDiskBusy());
  }

  #runOne(): void {
    const index = this.#options.random.int(this.#ready.length);
    const task = this.#ready[index]!;
    const last = this.#ready.pop()!;
    if (index < this.#ready.length) this.#ready[index] = last;
    this.#tasks++;
    task();
  }

  #nextTime(): number | undefined {
    let next: number | undefined;
    for (const { at } of this.#timers) if (next === undefined || at < next) next = at;
    return next;
  }

  #fireTimers(at: number): void {
    this.#now = Math.max(this.#now, at);
    for (const timer of this.#timers) {
      if (timer.at > this.#now) continue;
      this.#timers.delete(timer);
      this.#ready.push(timer.fire);
    }
  }

  #drawYield(): number {
    const { random, yieldEvery } = this.#options;
    return yieldEvery === 0 ? Number.POSITIVE_INFINITY : 1 + random.int(2 * yieldEvery);
  }

  #scheduler(): Scheduler.Scheduler {
    return {
      executionMode: "async",
      // The first operation of a turn never yields, as with Effect's own scheduler: an interruption that comes before a fiber has started
      // would be lost there.
      shouldYield: ({ currentOpCount }) => {
        if (--this.#untilYield > 0 || currentOpCount < 2) return false;
        this.#untilYield = this.#drawYield();
        return true;
      },
      makeDispatcher: () => ({
        scheduleTask: (task) => void this.#ready.push(task),
        flush: () => {
          while (this.#ready.length > 0) this.#runOne();
        },
      }),
    };
  }

  #clock(): Clock.Clock {
    const nanos = () => BigInt(Math.round(this.#now * 1e6));
    return {
      currentTimeMillisUnsafe: this.now,
      currentTimeMillis: Effect.sync(this.now),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos),
      monotonicTimeNanosUnsafe: nanos,
      monotonicTimeNanos: Effect.sync(nanos),
      sleep: (duration) =>
        Effect.callback<void>((resume) => {
          const cancel = this.after(Duration.toMillis(duration), () => resume(Effect.void));
          return Effect.sync(cancel);
        }),
    };
  }
}

const turnOfTheLoop = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** Files are real, and virtual time stands still meanwhile. */
const isDiskBusy = (): boolean => process.getActiveResourcesInfo().some((name) => /^(FSReq|CloseReq)/.test(name));
