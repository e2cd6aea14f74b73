/**
 * All generation servers of a run. It spreads requests over the servers that are up, gives every server new versions, and brings failed
 * ones back. Invariants: a server takes requests only while it has the newest version that all have; a held version stays at its servers;
 * unusable servers, and the loss of all, are reported with a reason.
 */
import { Deferred, Effect, Latch, type Scope, Semaphore } from "effect";
import type { Version } from "../../domain/Episode.ts";
import { PolicyError } from "../../domain/Errors.ts";
import { currentInstant, type Instant, monotonicMillis } from "../../domain/Instant.ts";
import type { ReportServer } from "../../domain/Server.ts";
import { AdoptionTimes } from "../../generation/AdoptionTimes.ts";
import { CommonVersion } from "../../generation/CommonVersion.ts";
import { type RetryPolicy, waitMs } from "../../support/http/retry.ts";
import type { Publisher } from "../weights/Publisher.ts";
import { adjustPlaces } from "./adjustPlaces.ts";
import type { SampledPart, ServerRequest } from "./Dialect.ts";
import { PlaceQueue } from "./PlaceQueue.ts";
import type { PublishedVersions } from "./PublishedVersions.ts";
import { RequestRouter } from "./RequestRouter.ts";
import { type ServerFailure, serverFailure } from "./ServerFailure.ts";
import type { ServerHandle } from "./ServerHandle.ts";

export interface ServerSetOptions {
  readonly servers: readonly ServerHandle[];
  readonly publisher: Publisher;
  /** True if versions stay at a server beside newer ones. */
  readonly pinsVersions: boolean;
  readonly tell: ReportServer;
  /** Milliseconds without any server after which the set fails. */
  readonly downDeadlineMs: number;
  /** Advice that follows the message that no server is up. */
  readonly advice: string;
}

/** Attempts of one request before it fails. */
const ATTEMPTS = 10;
/** Pauses between attempts to bring a server back; they go on until no server has been up for too long. */
const retryPolicy: RetryPolicy = { firstMs: 1_000, longestMs: 30_000 };
/** Least time between two requests for a server's load, milliseconds. */
const LOAD_MS = 1_000;
/** Permits of the gate between adoptions, which take all, and holds, which take one. */
const GATE_PERMITS = 2 ** 20;

interface FailureSpell {
  readonly since: Instant;
  attempt: number;
  /** True if the server was back and failed again. */
  hasReturned: boolean;
}

type ServerSetRequest = Omit<ServerRequest, "version" | "cacheOf"> & { readonly cacheOf: Version | null };

export class ServerSet {
  readonly versions: CommonVersion;
  readonly adoptions = new AdoptionTimes();
  readonly router: RequestRouter;
  readonly #options: ServerSetOptions;
  readonly #queue: PlaceQueue;
  readonly #scope: Scope.Scope;
  readonly #failure = Deferred.makeUnsafe<never, PolicyError>();
  /** The failure of each server that is not back yet. */
  readonly #troubles: Deferred.Deferred<ServerFailure>[];
  readonly #gate = Semaphore.makeUnsafe(GATE_PERMITS);
  readonly #versions: PublishedVersions;
  /** Open while any server is up, and while none is. */
  readonly #someUp = Latch.makeUnsafe(false);
  readonly #noneUp = Latch.makeUnsafe(true);
  /** Time of the last request for each server's load, monotonic milliseconds. */
  readonly #loadAt: number[];
  /** Servers that have answered no request since they failed. */
  readonly #spells = new Map<number, FailureSpell>();
  #sent = 0;
  #repeated = 0;

  constructor(options: ServerSetOptions, published: PublishedVersions, scope: Scope.Scope) {
    const { servers } = options;
    this.#options = options;
    this.#scope = scope;
    this.#versions = published;
    this.versions = new CommonVersion(1, published.target.version);
    this.router = new RequestRouter(servers.length);
    this.#queue = new PlaceQueue(this.router);
    this.#troubles = servers.map(() => Deferred.makeUnsafe<ServerFailure>());
    this.#loadAt = servers.map(() => Number.NEGATIVE_INFINITY);
  }

  /** Fails once the servers can no longer generate. */
  get died(): Effect.Effect<never, PolicyError> {
    return Deferred.await(this.#failure);
  }

  /** Requests that were sent, and those of them that repeated a failed one. */
  get counts(): { readonly sent: number; readonly repeated: number } {
    return { sent: this.#sent, repeated: this.#repeated };
  }

  /** Checks a server and gives it all versions that it must have; then it takes requests. */
  readonly join = Effect.fnUntraced({ self: this }, function* (this: ServerSet, server: number) {
    const handle = this.#handle(server);
    for (;;) {
      const { target, versionsForJoining } = this.#versions;
      yield* handle.join(versionsForJoining);
      // A version that was published meanwhile went only to servers that were up.
      if (target.version === this.#versions.target.version) break;
    }
    this.router.resize(server, handle.mostRequests);
    this.#enterPhase(server, "up");
  });

  /** Brings failed servers back and hands on new versions, for the life of the scope. `away` has the servers that did not join, and why. */
  readonly start = Effect.fnUntraced(
    { self: this },
    function* (this: ServerSet, away: ReadonlyMap<number, ServerFailure>) {
      for (const [server, failure] of away) yield* Deferred.succeed(this.#trouble(server), failure);
      for (const server of this.router.up) {
        this.#options.tell({ role: "generator", name: this.#handle(server).name, state: { _tag: "Up" } });
      }
      const recoveries = this.#options.servers.map((_, server) => this.#recoverAlways(server));
      const tasks = [...recoveries, this.#adoptVersions, this.#endWhenAllDown];
      yield* Effect.forEach(tasks, (task) => Effect.forkIn(task, this.#scope, { startImmediately: true }), {
        discard: true,
      });
    },
  );

  /** Repeats a request until any server has answered it. Fails with PolicyError if none can. */
  readonly request = Effect.fnUntraced(
    { self: this },
    function* (
      this: ServerSet,
      sequence: number,
      request: ServerSetRequest,
      pin: Version | null,
    ): Effect.fn.Return<SampledPart, PolicyError> {
      for (let attempt = 1; ; attempt++) {
        const { result, server } = yield* this.#queue.run(sequence, (server) =>
          Effect.map(Effect.result(this.#handle(server).generate(request, pin)), (result) => ({ result, server })),
        );
        this.#sent++;
        if (result._tag === "Success") {
          this.#spells.delete(server);
          yield* this.#adjustPlaces(server);
          return result.success;
        }
        const { failure } = result;
        yield* this.#react(server, failure);
        // A busy server may refuse as often as it is busy.
        if (failure.reason === "busy" && !(yield* this.#hasFailedFor(server, this.#options.downDeadlineMs))) attempt--;
        if (attempt < ATTEMPTS) {
          this.#repeated++;
          continue;
        }
        const message = `a request failed ${ATTEMPTS} times; the last: ${failure.message}`;
        return yield* new PolicyError({ reason: "session_failed", message });
      }
    },
  );

  /** Holds the newest version that all servers have, for the scope, and returns it. */
  readonly hold: Effect.Effect<Version, PolicyError, Scope.Scope> = Effect.gen({ self: this }, function* () {
    if (!this.#options.pinsVersions) {
      yield* Effect.acquireRelease(this.#gate.take(1), () => this.#gate.release(1), { interruptible: true });
    }
    yield* this.versions.newestOrFailure;
    return yield* this.#versions.hold;
  });

  /** True if requests may be pinned to the version. */
  canPin(version: Version): boolean {
    return this.#options.pinsVersions ? this.#versions.has(version) : this.versions.newest === version;
  }

  release(sequence: number): void {
    this.router.release(sequence);
  }

  #handle(server: number): ServerHandle {
    const handle = this.#options.servers[server];
    if (handle === undefined) throw new RangeError(`there is no server ${server}`);
    return handle;
  }

  #trouble(server: number): Deferred.Deferred<ServerFailure> {
    return this.#troubles[server]!;
  }

  #fail(error: PolicyError): void {
    Deferred.doneUnsafe(this.#failure, Effect.fail(error));
    this.versions.fail(error);
    this.#queue.fail(error);
  }

  #enterPhase(server: number, phase: "joining" | "up" | "lost"): void {
    this.router.enter(server, phase);
    const isSomeUp = this.router.up.length > 0;
    if (isSomeUp) {
      this.#someUp.openUnsafe();
      this.#noneUp.closeUnsafe();
    } else {
      this.#someUp.closeUnsafe();
      this.#noneUp.openUnsafe();
    }
    this.#queue.handOut();
  }

  /** Reacts to a failed request: its server may need to be brought back. Fails if the request must not be repeated. */
  readonly #react = Effect.fnUntraced(
    { self: this },
    function* (this: ServerSet, server: number, failure: ServerFailure): Effect.fn.Return<void, PolicyError> {
      const { message, reason } = failure;
      if (reason === "not_finite") return yield* new PolicyError({ reason: "not_finite", message });
      if (reason === "rejected") return yield* new PolicyError({ reason: "bad_request", message });
      if (reason === "interrupted" || reason === "nonsense") return;
      if (this.router.phaseOf(server) !== "up") return;
      this.#enterPhase(server, "joining");
      yield* Deferred.succeed(this.#trouble(server), failure);
    },
  );

  /** Brings a server back each time it fails, until it is lost. */
  #recoverAlways(server: number): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      for (;;) {
        const failure = yield* Deferred.await(this.#trouble(server));
        this.#troubles[server] = Deferred.makeUnsafe();
        if (!(yield* this.#recover(server, failure))) return;
      }
    });
  }

  /**
   * Tries to bring a server back; false if it is lost. The first attempt is made at once, since a connection may break while its server is
   * well.
   */
  readonly #recover = Effect.fnUntraced(
    { self: this },
    function* (this: ServerSet, server: number, first: ServerFailure) {
      const spell = this.#spells.get(server) ?? { since: yield* currentInstant, attempt: 0, hasReturned: false };
      this.#spells.set(server, spell);
      const waitsFirst = first.reason === "busy" || first.waitMs !== null || spell.hasReturned;
      let failure: ServerFailure | undefined =
        waitsFirst || first.reason === "unfit" ? first : yield* this.#rejoin(server);
      const isTold = failure !== undefined;
      while (failure !== undefined) {
        if (failure.reason === "unfit") {
          this.#lose(server, spell.since.unix, failure);
          return false;
        }
        spell.attempt++;
        yield* this.#waitToRetry(server, spell, failure);
        failure = yield* this.#rejoin(server);
      }
      spell.hasReturned = true;
      if (isTold) this.#options.tell({ role: "generator", name: this.#handle(server).name, state: { _tag: "Up" } });
      return true;
    },
  );

  /** Returns the failure of an attempt to join; undefined if the server is back. */
  #rejoin(server: number): Effect.Effect<ServerFailure | undefined> {
    return Effect.match(this.join(server), { onFailure: (failure) => failure, onSuccess: () => undefined });
  }

  /** Reports when the server is tried again, and waits until then. */
  readonly #waitToRetry = Effect.fnUntraced(
    { self: this },
    function* (
      this: ServerSet,
      server: number,
      { attempt, since }: FailureSpell,
      { message, waitMs: askedMs }: ServerFailure,
    ) {
      const wait = waitMs(retryPolicy, { retryIndex: attempt - 1, serverWaitMs: askedMs }) ?? 0;
      const nextAt = (yield* currentInstant).unix + wait;
      const state = { _tag: "Retrying", since: since.unix, attempt, nextAt, why: message } as const;
      this.#options.tell({ role: "generator", name: this.#handle(server).name, state });
      yield* Effect.sleep(wait);
    },
  );

  /** True if the server has answered nothing for `ms` milliseconds. */
  #hasFailedFor(server: number, ms: number): Effect.Effect<boolean> {
    return Effect.map(monotonicMillis, (now) => now - (this.#spells.get(server)?.since.monotonic ?? now) >= ms);
  }

  #lose(server: number, since: number, { message }: ServerFailure): void {
    this.#options.tell({
      role: "generator",
      name: this.#handle(server).name,
      state: { _tag: "Lost", since, why: message },
    });
    this.#enterPhase(server, "lost");
    if (this.router.allLost) this.#fail(new PolicyError({ reason: "session_failed", message }));
  }

  /** Fails the set once no server has been up for too long. */
  readonly #endWhenAllDown: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    const { advice, downDeadlineMs, servers } = this.#options;
    for (;;) {
      yield* this.#noneUp.await;
      const isBack = yield* Effect.raceFirst(
        Effect.as(this.#someUp.await, true),
        Effect.as(Effect.sleep(downDeadlineMs), false),
      );
      if (isBack) continue;
      const names = servers.map(({ name }) => name).join(", ");
      const message = `no generation server has answered for ${Math.round(downDeadlineMs / 1000)} s (${names}); ${advice}`;
      this.#fail(new PolicyError({ reason: "session_failed", message }));
      return;
    }
  });

  /** Gives every new version to the servers that are up. One that cannot adopt it is brought back with the newest. */
  readonly #adoptVersions: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    const { pinsVersions, publisher } = this.#options;
    for (;;) {
      yield* publisher.awaitNewer(this.#versions.target.version);
      yield* pinsVersions ? this.#adopt : this.#gate.withPermits(GATE_PERMITS)(this.#adopt);
    }
  }).pipe(Effect.catch((error: PolicyError) => Effect.sync(() => this.#fail(error))));

  readonly #adopt: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    const start = yield* monotonicMillis;
    const next = yield* this.#versions.targetNewest;
    yield* Effect.forEach(
      this.router.up,
      (server) =>
        Effect.catch(this.#handle(server).adopt(next), (failure) =>
          Effect.ignore(this.#reactToAdoption(server, failure)),
        ),
      { concurrency: "unbounded", discard: true },
    );
    yield* this.#versions.targetReached;
    this.adoptions.recordAdoption((yield* monotonicMillis) - start);
    this.versions.recordAdoption(0, next.version);
    yield* Effect.forkIn(this.#unloadOld(next.version), this.#scope);
  });

  /** Treats a server that cannot adopt a version as away, unless it is unfit. */
  #reactToAdoption(server: number, failure: ServerFailure): Effect.Effect<void, PolicyError> {
    const { message, reason } = failure;
    return this.#react(server, reason === "unfit" ? failure : serverFailure("away", message));
  }

  /** Unloads old adapters that no request uses. The server's next request shows any failure. */
  #unloadOld(newest: Version): Effect.Effect<void> {
    const isHeld = (version: Version) => this.#versions.has(version);
    const unload = (handle: ServerHandle) => Effect.ignore(handle.unloadOlder(newest, isHeld));
    return Effect.forEach(this.#options.servers, unload, { concurrency: "unbounded", discard: true });
  }

  /** Refreshes a server's load after an answer, at most once a second, and adjusts its places to it. */
  readonly #adjustPlaces = Effect.fnUntraced({ self: this }, function* (this: ServerSet, server: number) {
    const now = yield* monotonicMillis;
    if (now - (this.#loadAt[server] ?? Number.NEGATIVE_INFINITY) < LOAD_MS) return;
    this.#loadAt[server] = now;
    const handle = this.#handle(server);
    const refreshed = Effect.map(handle.refreshLoad, (load) => {
      const { router } = this;
      router.resize(server, adjustPlaces(router.placesOf(server), router.openAt(server), load, handle.mostRequests));
      this.#queue.handOut();
    });
    yield* Effect.forkIn(Effect.ignore(refreshed), this.#scope);
  });
}
