/**
 * Holds what outlives the attempts at one run in this process: its folder and the lock on it, its page, its handle for code, and the groups under
 * suspicion. Invariants: a caller is told of the folder and of the run once, however often the run is opened again; no other process writes to the
 * folder between two attempts.
 */
import { Effect, Scope } from "effect";
import { isThreadDeath, type Restart, type ThreadDeath, ThreadLost, withoutRestarts } from "../src/domain/Restart.ts";
import type { FollowedRun, Run } from "../src/engine/Run.ts";
import { CrashSuspects } from "../src/rollout/CrashSuspects.ts";
import * as Stop from "../src/support/process/Stop.ts";

export interface SessionOptions {
  /** Restarts that the run may use; 0 for none. */
  readonly restarts: number;
  /** Why another process opens the run again; null where none does. */
  readonly restart: Restart | null;
  readonly onFolder?: ((folder: string) => void) | undefined;
  readonly onStart?: ((run: Run) => void) | undefined;
}

export class RunSession {
  readonly suspects = new CrashSuspects();
  readonly #options: SessionOptions;
  readonly #scope: Scope.Scope;
  #restart: Restart | null;
  #folder: string | null = null;
  #followed: FollowedRun | null = null;
  readonly #opened = new Set<"lock" | "page">();
  #used = 0;
  /** Folder of the newest checkpoint at the last death. */
  #checkpoint: string | null = null;

  private constructor(options: SessionOptions, scope: Scope.Scope) {
    this.#options = options;
    this.#scope = scope;
    this.#restart = options.restart;
  }

  static make(options: SessionOptions): Effect.Effect<RunSession, never, Scope.Scope> {
    return Effect.map(Effect.scope, (scope) => new RunSession(options, scope));
  }

  /** Why this attempt opens the run again; null for one that does not. */
  get restart(): Restart | null {
    return this.#restart;
  }

  /** The folder of a run that has begun in this process; null before. */
  get folder(): string | null {
    return this.#folder;
  }

  /** Tells the caller of the folder, once. */
  begin(folder: string): void {
    if (this.#folder !== null) return;
    this.#folder = folder;
    this.#options.onFolder?.(folder);
  }

  /** True if the caller holds the run. */
  get isHeld(): boolean {
    return this.#options.onStart !== undefined;
  }

  /** Gives the caller the run, or lets the run that it holds follow this one. */
  hold(run: Run, follow: (run: Run) => FollowedRun): void {
    if (this.#followed !== null) {
      this.#followed.next(run);
      return;
    }
    const followed = follow(run);
    this.#followed = followed;
    this.#options.onStart?.(followed.run);
  }

  /** Completes the streams of the run that the caller holds. */
  end(): void {
    this.#followed?.end();
  }

  /** Opens what stays over all attempts, once. */
  openOnce<E, R>(
    name: "lock" | "page",
    open: Effect.Effect<void, E, R>,
  ): Effect.Effect<void, E, Exclude<R, Scope.Scope>> {
    return Effect.suspend(() => {
      if (this.#opened.has(name)) return Effect.void as Effect.Effect<void, E, Exclude<R, Scope.Scope>>;
      this.#opened.add(name);
      return Scope.provide(open, this.#scope);
    });
  }

  /**
   * The failure of an attempt: `ThreadLost` where a thread died and the run is opened again, else the failure itself. A run that was asked to
   * stop is not opened again. `checkpoint` is the folder of its newest checkpoint; without it, that of the attempt before.
   */
  readonly failureOf = <E>(
    error: E,
    checkpoint: string | null = this.#checkpoint,
  ): Effect.Effect<never, E | ThreadDeath | ThreadLost, Stop.Stop> =>
    Effect.gen({ self: this }, function* () {
      if (!isThreadDeath(error)) return yield* Effect.fail(error);
      const { requested } = yield* Stop.Stop;
      const isStopping = yield* Effect.raceFirst(Effect.as(requested, true), Effect.succeed(false));
      const { restarts } = this.#options;
      this.#checkpoint = checkpoint;
      if (isStopping) return yield* Effect.fail(error);
      if (this.#used >= restarts) return yield* withoutRestarts(error, restarts, checkpoint);
      this.#used++;
      this.#restart = { reason: error.message, left: restarts - this.#used };
      return yield* new ThreadLost({ message: error.message });
    });
}
