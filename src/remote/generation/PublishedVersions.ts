/**
 * The versions that servers have or must adopt: the newest, and those that are held. Invariant: a folder that a server may still need is
 * not removed.
 */
import { Effect, Exit, Scope } from "effect";
import type { Version } from "../../domain/Episode.ts";
import type { PublishedVersion, Publisher } from "../weights/Publisher.ts";

interface RetainedVersion {
  readonly published: PublishedVersion;
  readonly scope: Scope.Closeable;
}

export class PublishedVersions {
  readonly #publisher: Publisher;
  /** The version that servers must have. */
  #target: RetainedVersion;
  /** The newest version that every server has had; it differs from the target only during an adoption. */
  #served: RetainedVersion;
  readonly #holds = new Map<Version, { readonly published: PublishedVersion; count: number }>();

  private constructor(publisher: Publisher, first: RetainedVersion) {
    this.#publisher = publisher;
    this.#target = first;
    this.#served = first;
  }

  /** Begins with the newest version on disk. All folders are let go with the scope. */
  static readonly make = Effect.fnUntraced(function* (publisher: Publisher) {
    const versions = new PublishedVersions(publisher, yield* PublishedVersions.#newest(publisher));
    yield* Effect.addFinalizer(() =>
      Effect.forEach(new Set([versions.#target, versions.#served]), ({ scope }) => Scope.close(scope, Exit.void), {
        discard: true,
      }),
    );
    return versions;
  });

  /** Retains the newest version. It may be replaced and removed meanwhile, and then the next one is tried. */
  static readonly #newest = Effect.fnUntraced(function* (publisher: Publisher) {
    for (;;) {
      const published = publisher.current();
      const scope = yield* Scope.make();
      if (yield* Scope.provide(publisher.retain(published.version), scope)) return { published, scope };
      yield* Scope.close(scope, Exit.void);
    }
  });

  /** The version that every server must have. */
  get target(): PublishedVersion {
    return this.#target.published;
  }

  /**
   * The versions that a joining server must adopt, oldest first. Full weights replace each other on a server, so the target is enough; adapters
   * stay beside each other, so held ones and the served one come before it.
   */
  get versionsForJoining(): readonly PublishedVersion[] {
    const { published } = this.#target;
    const heldVersions = [...this.#holds.values()].map((holding) => holding.published);
    if (published.kind === "full") return [published];
    const older = [...heldVersions, this.#served.published].filter(({ version }) => version !== published.version);
    return [...new Map(older.map((each) => [each.version, each])).values(), published].sort(
      (a, b) => a.version - b.version,
    );
  }

  /** Makes the newest version on disk the one that servers must have. `targetReached` follows before it is called again. */
  readonly targetNewest: Effect.Effect<PublishedVersion> = Effect.map(
    Effect.suspend(() => PublishedVersions.#newest(this.#publisher)),
    (next) => {
      this.#target = next;
      return next.published;
    },
  );

  /** Records that all servers have the target, and lets the previous version go. */
  readonly targetReached: Effect.Effect<void> = Effect.suspend(() => {
    const previous = this.#served;
    this.#served = this.#target;
    return previous === this.#target ? Effect.void : Scope.close(previous.scope, Exit.void);
  });

  /** Holds the version that all servers have, for the scope, and returns it. */
  readonly hold: Effect.Effect<Version, never, Scope.Scope> = Effect.gen({ self: this }, function* () {
    const { published } = this.#served;
    const { version } = published;
    // The folder is there, because the served version is retained.
    yield* this.#publisher.retain(version);
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        const holding = this.#holds.get(version);
        if (holding === undefined) this.#holds.set(version, { published, count: 1 });
        else holding.count++;
      }),
      () =>
        Effect.sync(() => {
          const holding = this.#holds.get(version);
          if (holding !== undefined && --holding.count === 0) this.#holds.delete(version);
        }),
    );
    return version;
  });

  /** True if the version is held, or is the one that all servers have. */
  has(version: Version): boolean {
    return this.#holds.has(version) || this.#served.published.version === version;
  }
}
