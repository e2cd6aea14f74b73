/**
 * The versions of the weights as a Tinker server names them, on the sampling side: which is the newest, who waits for one, and which may be sampled
 * from. Invariant: where older ones are not the server's to give, only the newest is given out.
 */
import { Effect, Latch } from "effect";
import type { Version } from "../../domain/Episode.ts";
import { PolicyError } from "../../domain/Errors.ts";
import type { Sessions as Kind } from "./servers.ts";

/** Older versions whose names are kept where they stay valid. */
const KEPT = 64;

export class Sessions {
  readonly #kind: Kind;
  readonly #names = new Map<Version, string>();
  readonly #changed = Latch.makeUnsafe(false);
  readonly #held = new Map<Version, number>();
  #newest: Version | null = null;
  #broken: PolicyError | undefined;

  constructor(kind: Kind) {
    this.#kind = kind;
  }

  get newest(): Version | null {
    return this.#newest;
  }

  add(version: Version, name: string): void {
    this.#names.set(version, name);
    this.#newest = Math.max(this.#newest ?? version, version);
    this.#forget();
    this.#wake();
  }

  breakWith(error: PolicyError): void {
    this.#broken ??= error;
    this.#wake();
  }

  /** Suspends until there is a version of at least `least`, and gives the newest. */
  reaches(least: Version): Effect.Effect<Version, PolicyError> {
    return Effect.suspend(() => {
      if (this.#broken !== undefined) return Effect.fail(this.#broken);
      if (this.#newest !== null && this.#newest >= least) return Effect.succeed(this.#newest);
      return Effect.andThen(this.#changed.await, this.reaches(least));
    });
  }

  /** The name to sample version `version` by. */
  named(version: Version): Effect.Effect<string, PolicyError> {
    return Effect.suspend(() => {
      const name = this.#names.get(version);
      if (name !== undefined && (this.#kind === "snapshots" || version === this.#newest)) return Effect.succeed(name);
      const message = `version ${version} of the weights is not the newest (${this.#newest}), and this server samples rightly from that alone`;
      return Effect.fail(new PolicyError({ reason: "bad_request", message }));
    });
  }

  hold(version: Version): void {
    this.#held.set(version, (this.#held.get(version) ?? 0) + 1);
  }

  unhold(version: Version): void {
    const count = (this.#held.get(version) ?? 0) - 1;
    if (count > 0) this.#held.set(version, count);
    else this.#held.delete(version);
    this.#forget();
  }

  #forget(): void {
    const old = [...this.#names.keys()].sort((a, b) => b - a).slice(this.#kind === "snapshots" ? KEPT : 1);
    for (const version of old) if (!this.#held.has(version)) this.#names.delete(version);
  }

  #wake(): void {
    this.#changed.openUnsafe();
    this.#changed.closeUnsafe();
  }
}
