/**
 * The versions that servers are given, and their folders: the newest, which every server is to have, and those that are held. Invariant: a folder
 * that a server may be given is not removed.
 */
import { Effect, Exit, Scope } from "effect";
import type { Version } from "../../domain/Episode.ts";
import type { Published, Publisher } from "../weights/Publisher.ts";

interface Folder {
  readonly published: Published;
  readonly scope: Scope.Closeable;
}

export class Kept {
  readonly #publisher: Publisher;
  /** What servers are to have, and what all had last; the same but while a version is being adopted. */
  #target: Folder;
  #served: Folder;
  readonly #held = new Map<Version, { readonly published: Published; count: number }>();

  private constructor(publisher: Publisher, first: Folder) {
    this.#publisher = publisher;
    this.#target = first;
    this.#served = first;
  }

  /** Begins with the newest version on disk; lets all folders go with the scope. */
  static readonly make = Effect.fnUntraced(function* (publisher: Publisher) {
    const kept = new Kept(publisher, yield* Kept.#newest(publisher));
    yield* Effect.addFinalizer(() =>
      Effect.forEach(new Set([kept.#target, kept.#served]), ({ scope }) => Scope.close(scope, Exit.void), {
        discard: true,
      }),
    );
    return kept;
  });

  static readonly #newest = Effect.fnUntraced(function* (publisher: Publisher) {
    for (;;) {
      const published = publisher.current();
      const scope = yield* Scope.make();
      if (yield* Scope.provide(publisher.keep(published.version), scope)) return { published, scope };
      yield* Scope.close(scope, Exit.void);
    }
  });

  /** What every server is to have. */
  get target(): Published {
    return this.#target.published;
  }

  /** What a server that joins is given: the held versions, where they stay beside newer ones, and the newest last. */
  get versions(): readonly Published[] {
    const { published } = this.#target;
    const held = [...this.#held.values()].map((each) => each.published);
    if (published.kind === "full") return [published];
    const older = [...held, this.#served.published].filter(({ version }) => version !== published.version);
    return [...new Map(older.map((each) => [each.version, each])).values(), published].sort(
      (a, b) => a.version - b.version,
    );
  }

  /** From now on servers are to have the newest version on disk. */
  readonly aim: Effect.Effect<Published> = Effect.map(
    Effect.suspend(() => Kept.#newest(this.#publisher)),
    (next) => {
      this.#target = next;
      return next.published;
    },
  );

  /** All servers have what they are to have. */
  readonly reached: Effect.Effect<void> = Effect.suspend(() => {
    const before = this.#served;
    this.#served = this.#target;
    return before === this.#target ? Effect.void : Scope.close(before.scope, Exit.void);
  });

  /** Holds the version that all servers have, and gives it. */
  readonly hold: Effect.Effect<Version, never, Scope.Scope> = Effect.gen({ self: this }, function* () {
    const { published } = this.#served;
    const { version } = published;
    yield* this.#publisher.keep(version);
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        const held = this.#held.get(version);
        if (held === undefined) this.#held.set(version, { published, count: 1 });
        else held.count++;
      }),
      () =>
        Effect.sync(() => {
          const held = this.#held.get(version);
          if (held !== undefined && --held.count === 0) this.#held.delete(version);
        }),
    );
    return version;
  });

  /** Whether the version is held, or the one that all have. */
  has(version: Version): boolean {
    return this.#held.has(version) || this.#served.published.version === version;
  }
}
