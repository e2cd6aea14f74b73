/**
 * Tracks the versions on disk: the newest, those that readers retain, and the fibers that wait for a newer one. Invariants: versions only
 * grow; a retained one is not removed; once broken, every waiter fails.
 */
import { Effect, Latch, type Scope } from "effect";
import type { Version } from "../../domain/Episode.ts";
import type { PolicyError } from "../../domain/Errors.ts";

export class VersionsOnDisk {
  readonly #newestCount: number;
  readonly #onRemove: (version: Version) => void;
  readonly #present = new Set<Version>();
  readonly #retained = new Map<Version, number>();
  readonly #changed = Latch.makeUnsafe(false);
  #newest = -1;
  #broken: PolicyError | undefined;

  /** The newest `newestCount` versions stay beside retained ones; `onRemove` is called for each that goes. */
  constructor(newestCount: number, onRemove: (version: Version) => void) {
    this.#newestCount = newestCount;
    this.#onRemove = onRemove;
  }

  get newest(): Version {
    return this.#newest;
  }

  add(version: Version): void {
    this.#present.add(version);
    this.#newest = Math.max(this.#newest, version);
    this.#removeOld();
    this.#wake();
  }

  breakWith(error: PolicyError): void {
    this.#broken ??= error;
    this.#wake();
  }

  /** Suspends until there is a version newer than `than`, and returns the newest. */
  awaitNewer(than: Version): Effect.Effect<Version, PolicyError> {
    return Effect.suspend(() => {
      if (this.#broken !== undefined) return Effect.fail(this.#broken);
      if (this.#newest > than) return Effect.succeed(this.#newest);
      return Effect.andThen(this.#changed.await, this.awaitNewer(than));
    });
  }

  readonly died: Effect.Effect<never, PolicyError> = Effect.suspend(() =>
    this.#broken === undefined ? Effect.andThen(this.#changed.await, this.died) : Effect.fail(this.#broken),
  );

  /** Retains a version for the scope. False if it is gone. */
  retain(version: Version): Effect.Effect<boolean, never, Scope.Scope> {
    return Effect.acquireRelease(
      Effect.sync(() => this.#addReader(version)),
      (isRetained) => Effect.sync(() => isRetained && this.#removeReader(version)),
    );
  }

  #addReader(version: Version): boolean {
    if (!this.#present.has(version)) return false;
    this.#retained.set(version, (this.#retained.get(version) ?? 0) + 1);
    return true;
  }

  #removeReader(version: Version): void {
    const count = (this.#retained.get(version) ?? 0) - 1;
    if (count > 0) this.#retained.set(version, count);
    else this.#retained.delete(version);
    this.#removeOld();
  }

  #removeOld(): void {
    const old = [...this.#present].sort((a, b) => b - a).slice(this.#newestCount);
    for (const version of old.filter((each) => !this.#retained.has(each))) {
      this.#present.delete(version);
      this.#onRemove(version);
    }
  }

  #wake(): void {
    this.#changed.openUnsafe();
    this.#changed.closeUnsafe();
  }
}
