/**
 * The versions that the sampler may use, with the server's names: the newest, those that are held, and the fibers that wait for one.
 * Invariant: if the server cannot sample from older versions, only the newest is used.
 */
import { Effect, Latch } from "effect";
import type { Version } from "../../domain/Episode.ts";
import { PolicyError } from "../../domain/Errors.ts";
import type { SamplingSessions as Kind } from "./serverTraits.ts";

/** Newest versions whose names are remembered, if older ones stay valid. */
const MOST_NAMES = 64;

export class SampledVersions {
  readonly #kind: Kind;
  readonly #names = new Map<Version, string>();
  readonly #changed = Latch.makeUnsafe(false);
  readonly #holds = new Map<Version, number>();
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

  /** Suspends until there is a version of at least `least`, and returns the newest. */
  reaches(least: Version): Effect.Effect<Version, PolicyError> {
    return Effect.suspend(() => {
      if (this.#broken !== undefined) return Effect.fail(this.#broken);
      if (this.#newest !== null && this.#newest >= least) return Effect.succeed(this.#newest);
      return Effect.andThen(this.#changed.await, this.reaches(least));
    });
  }

  /** The server's name of a version. Fails if the server cannot sample from it any more. */
  nameOf(version: Version): Effect.Effect<string, PolicyError> {
    return Effect.suspend(() => {
      const name = this.#names.get(version);
      if (name !== undefined && (this.#kind === "snapshots" || version === this.#newest)) return Effect.succeed(name);
      const message = `version ${version} of the weights is not the newest (${this.#newest}), and this server samples rightly from that alone`;
      return Effect.fail(new PolicyError({ reason: "bad_request", message }));
    });
  }

  hold(version: Version): void {
    this.#holds.set(version, (this.#holds.get(version) ?? 0) + 1);
  }

  release(version: Version): void {
    const count = (this.#holds.get(version) ?? 0) - 1;
    if (count > 0) this.#holds.set(version, count);
    else this.#holds.delete(version);
    this.#forget();
  }

  #forget(): void {
    const old = [...this.#names.keys()].sort((a, b) => b - a).slice(this.#kind === "snapshots" ? MOST_NAMES : 1);
    for (const version of old) if (!this.#holds.has(version)) this.#names.delete(version);
  }

  #wake(): void {
    this.#changed.openUnsafe();
    this.#changed.closeUnsafe();
  }
}
