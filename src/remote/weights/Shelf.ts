/**
 * The versions that are on disk: which is the newest, which are kept, and who waits for a newer one. Invariants: versions only grow; one that a
 * reader has kept is not taken out; once broken, every waiter fails.
 */
import { Effect, Latch, type Scope } from "effect";
import type { Version } from "../../domain/Episode.ts";
import type { PolicyError } from "../../domain/Errors.ts";

export class Shelf {
  readonly #most: number;
  readonly #remove: (version: Version) => void;
  readonly #present = new Set<Version>();
  readonly #kept = new Map<Version, number>();
  readonly #changed = Latch.makeUnsafe(false);
  #newest = -1;
  #broken: PolicyError | undefined;

  /** Of what nobody keeps, the newest `most` stay; `remove` is told of each version that goes. */
  constructor(most: number, remove: (version: Version) => void) {
    this.#most = most;
    this.#remove = remove;
  }

  get newest(): Version {
    return this.#newest;
  }

  add(version: Version): void {
    this.#present.add(version);
    this.#newest = Math.max(this.#newest, version);
    this.#sweep();
    this.#wake();
  }

  breakWith(error: PolicyError): void {
    this.#broken ??= error;
    this.#wake();
  }

  /** Suspends until there is a version newer than `than`, and gives the newest. */
  newer(than: Version): Effect.Effect<Version, PolicyError> {
    return Effect.suspend(() => {
      if (this.#broken !== undefined) return Effect.fail(this.#broken);
      if (this.#newest > than) return Effect.succeed(this.#newest);
      return Effect.andThen(this.#changed.await, this.newer(than));
    });
  }

  readonly died: Effect.Effect<never, PolicyError> = Effect.suspend(() =>
    this.#broken === undefined ? Effect.andThen(this.#changed.await, this.died) : Effect.fail(this.#broken),
  );

  /** Keeps a version for the scope. False where it is gone. */
  keep(version: Version): Effect.Effect<boolean, never, Scope.Scope> {
    return Effect.acquireRelease(
      Effect.sync(() => this.#keep(version)),
      (kept) => Effect.sync(() => kept && this.#letGo(version)),
    );
  }

  #keep(version: Version): boolean {
    if (!this.#present.has(version)) return false;
    this.#kept.set(version, (this.#kept.get(version) ?? 0) + 1);
    return true;
  }

  #letGo(version: Version): void {
    const count = (this.#kept.get(version) ?? 0) - 1;
    if (count > 0) this.#kept.set(version, count);
    else this.#kept.delete(version);
    this.#sweep();
  }

  #sweep(): void {
    const old = [...this.#present].sort((a, b) => b - a).slice(this.#most);
    for (const version of old.filter((each) => !this.#kept.has(each))) {
      this.#present.delete(version);
      this.#remove(version);
    }
  }

  #wake(): void {
    this.#changed.openUnsafe();
    this.#changed.closeUnsafe();
  }
}
