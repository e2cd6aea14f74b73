/**
 * The generation servers of a run together: requests over those that are up, new versions to all of them, and each of those that fail brought back.
 * Invariants: a server takes requests only while it has the newest version that all have; a held version stays where it was held; a server that
 * cannot be used, and a fleet that none is left of, say why.
 */
import { Deferred, Effect, Latch, type Scope, Semaphore } from "effect";
import type { Version } from "../../domain/Episode.ts";
import { PolicyError } from "../../domain/Errors.ts";
import { currentInstant, type Instant, monotonicMillis } from "../../domain/Instant.ts";
import type { TellServer } from "../../domain/Server.ts";
import { AdoptionTimes } from "../../generation/AdoptionTimes.ts";
import { CommonVersion } from "../../generation/CommonVersion.ts";
import { type RetryPolicy, waitMs } from "../../support/http/retry.ts";
import type { Publisher } from "../weights/Publisher.ts";
import type { Answer, Ask } from "./Dialect.ts";
import { Fleet } from "./Fleet.ts";
import type { Kept } from "./Kept.ts";
import type { Member } from "./Member.ts";
import { Places } from "./Places.ts";
import { placesAfter } from "./pressure.ts";
import { failed, type ServerFailure } from "./ServerFailure.ts";

export interface CrewOptions {
  readonly members: readonly Member[];
  readonly publisher: Publisher;
  /** Whether versions stay at a server beside newer ones. */
  readonly pins: boolean;
  readonly tell: TellServer;
  /** How long no server may be up, milliseconds. */
  readonly downDeadlineMs: number;
  /** Said after the news that no server is up: how to go on. */
  readonly advice: string;
}

/** Times that one request is asked before it fails. */
const ATTEMPTS = 10;
/** How a server in trouble is asked again: until the fleet gives up. */
const policy: RetryPolicy = { firstMs: 1_000, longestMs: 30_000 };
/** Least time between two questions for a server's load, milliseconds. */
const LOAD_MS = 1_000;
/** Permits of the gate between swaps, which take all, and holds, which take one. */
const GATE = 2 ** 20;

interface Strain {
  readonly since: Instant;
  attempt: number;
  /** It was back, and failed again. */
  returned: boolean;
}

type Wish = Omit<Ask, "version" | "cacheOf"> & { readonly cacheOf: Version | null };

export class Crew {
  readonly versions: CommonVersion;
  readonly adoptions = new AdoptionTimes();
  readonly fleet: Fleet;
  readonly #options: CrewOptions;
  readonly #places: Places;
  readonly #scope: Scope.Scope;
  readonly #ended = Deferred.makeUnsafe<never, PolicyError>();
  /** What a server failed with, until it is back. */
  readonly #troubles: Deferred.Deferred<ServerFailure>[];
  readonly #gate = Semaphore.makeUnsafe(GATE);
  readonly #kept: Kept;
  /** Open while some server is up, and while none is. */
  readonly #someUp = Latch.makeUnsafe(false);
  readonly #noneUp = Latch.makeUnsafe(true);
  /** When each server was last asked for its load, milliseconds of the monotonic clock. */
  readonly #loadAt: number[];
  /** Servers that failed and have answered nothing since. */
  readonly #strains = new Map<number, Strain>();
  #asked = 0;
  #repeated = 0;

  constructor(options: CrewOptions, kept: Kept, scope: Scope.Scope) {
    const { members } = options;
    this.#options = options;
    this.#scope = scope;
    this.#kept = kept;
    this.versions = new CommonVersion(1, kept.target.version);
    this.fleet = new Fleet(members.length);
    this.#places = new Places(this.fleet);
    this.#troubles = members.map(() => Deferred.makeUnsafe<ServerFailure>());
    this.#loadAt = members.map(() => Number.NEGATIVE_INFINITY);
  }

  /** Fails once the servers can no longer generate. */
  get died(): Effect.Effect<never, PolicyError> {
    return Deferred.await(this.#ended);
  }

  /** Requests that were sent, and those of them that were sent before and failed. */
  get counts(): { readonly asked: number; readonly repeated: number } {
    return { asked: this.#asked, repeated: this.#repeated };
  }

  /** Checks a server and gives it what it must have; then it takes requests. */
  readonly join = Effect.fnUntraced({ self: this }, function* (this: Crew, server: number) {
    const member = this.#member(server);
    for (;;) {
      const { target, versions } = this.#kept;
      yield* member.join(versions);
      // A version that came meanwhile was given to those that were up alone.
      if (target.version === this.#kept.target.version) break;
    }
    this.fleet.resize(server, member.most);
    this.#enter(server, "up");
  });

  /** Brings back what fails, and hands on what the learner makes, for the life of the scope. `away`: servers that did not join, and why. */
  readonly run = Effect.fnUntraced({ self: this }, function* (this: Crew, away: ReadonlyMap<number, ServerFailure>) {
    for (const [server, failure] of away) yield* Deferred.succeed(this.#trouble(server), failure);
    for (const server of this.fleet.up) {
      this.#options.tell({ role: "generator", name: this.#member(server).name, state: { _tag: "Up" } });
    }
    const tends = this.#options.members.map((_, server) => this.#tend(server));
    const all = [...tends, this.#follow, this.#outage];
    yield* Effect.forEach(all, (each) => Effect.forkIn(each, this.#scope, { startImmediately: true }), {
      discard: true,
    });
  });

  /** A request until it is answered, at whatever server. Fails with PolicyError where it cannot be. */
  readonly ask = Effect.fnUntraced(
    { self: this },
    function* (this: Crew, sequence: number, wish: Wish, pin: Version | null): Effect.fn.Return<Answer, PolicyError> {
      for (let attempt = 1; ; attempt++) {
        const { result, server } = yield* this.#places.at(sequence, (server) =>
          Effect.map(Effect.result(this.#member(server).generate(wish, pin)), (result) => ({ result, server })),
        );
        this.#asked++;
        if (result._tag === "Success") {
          this.#strains.delete(server);
          yield* this.#weigh(server);
          return result.success;
        }
        const { failure } = result;
        this.#repeated++;
        yield* this.#react(server, failure);
        // A server that is busy says so as often as it is.
        if (failure.reason === "busy" && !(yield* this.#strainedFor(server, this.#options.downDeadlineMs))) attempt--;
        if (attempt < ATTEMPTS) continue;
        const message = `a request failed ${ATTEMPTS} times; the last: ${failure.message}`;
        return yield* new PolicyError({ reason: "session_failed", message });
      }
    },
  );

  /** Holds the newest version that all servers have, and gives it. */
  readonly hold: Effect.Effect<Version, PolicyError, Scope.Scope> = Effect.gen({ self: this }, function* () {
    if (!this.#options.pins) {
      yield* Effect.acquireRelease(this.#gate.take(1), () => this.#gate.release(1), { interruptible: true });
    }
    yield* this.versions.newestOrFailure;
    return yield* this.#kept.hold;
  });

  /** Whether requests may be pinned to the version. */
  holds(version: Version): boolean {
    return this.#options.pins ? this.#kept.has(version) : this.versions.newest === version;
  }

  release(sequence: number): void {
    this.fleet.release(sequence);
  }

  #member(server: number): Member {
    const member = this.#options.members[server];
    if (member === undefined) throw new RangeError(`there is no server ${server}`);
    return member;
  }

  #trouble(server: number): Deferred.Deferred<ServerFailure> {
    return this.#troubles[server]!;
  }

  #end(error: PolicyError): void {
    Deferred.doneUnsafe(this.#ended, Effect.fail(error));
    this.versions.fail(error);
    this.#places.end(error);
  }

  #enter(server: number, phase: "joining" | "up" | "lost"): void {
    this.fleet.enter(server, phase);
    const some = this.fleet.up.length > 0;
    if (some) {
      this.#someUp.openUnsafe();
      this.#noneUp.closeUnsafe();
    } else {
      this.#someUp.closeUnsafe();
      this.#noneUp.openUnsafe();
    }
    this.#places.settle();
  }

  /** What a failed request means for its server, and for the request: it is asked again unless this fails. */
  readonly #react = Effect.fnUntraced(
    { self: this },
    function* (this: Crew, server: number, failure: ServerFailure): Effect.fn.Return<void, PolicyError> {
      const { message, reason } = failure;
      if (reason === "not_finite") return yield* new PolicyError({ reason: "not_finite", message });
      if (reason === "rejected") return yield* new PolicyError({ reason: "bad_request", message });
      if (reason === "interrupted" || reason === "nonsense") return;
      if (this.fleet.phaseOf(server) !== "up") return;
      this.#enter(server, "joining");
      yield* Deferred.succeed(this.#trouble(server), failure);
    },
  );

  /** Waits for a server's trouble and brings it back, again and again, until it is lost. */
  #tend(server: number): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      for (;;) {
        const failure = yield* Deferred.await(this.#trouble(server));
        this.#troubles[server] = Deferred.makeUnsafe();
        if (!(yield* this.#recovered(server, failure))) return;
      }
    });
  }

  /** Asks a server until it is back. False where it is lost. The first time at once: a connection may break while its server is well. */
  readonly #recovered = Effect.fnUntraced({ self: this }, function* (this: Crew, server: number, first: ServerFailure) {
    const strain = this.#strains.get(server) ?? { since: yield* currentInstant, attempt: 0, returned: false };
    this.#strains.set(server, strain);
    const patient = first.reason === "busy" || first.waitMs !== null || strain.returned;
    let failure: ServerFailure | undefined =
      patient || first.reason === "unfit" ? first : yield* this.#rejoined(server);
    const told = failure !== undefined;
    while (failure !== undefined) {
      if (failure.reason === "unfit") {
        this.#lose(server, strain.since.unix, failure);
        return false;
      }
      strain.attempt++;
      yield* this.#wait(server, strain, failure);
      failure = yield* this.#rejoined(server);
    }
    strain.returned = true;
    if (told) this.#options.tell({ role: "generator", name: this.#member(server).name, state: { _tag: "Up" } });
    return true;
  });

  /** Why a server is not back; undefined where it is. */
  #rejoined(server: number): Effect.Effect<ServerFailure | undefined> {
    return Effect.match(this.join(server), { onFailure: (failure) => failure, onSuccess: () => undefined });
  }

  /** Says that the server is asked again, and when; and waits until then. */
  readonly #wait = Effect.fnUntraced(
    { self: this },
    function* (this: Crew, server: number, { attempt, since }: Strain, { message, waitMs: askedMs }: ServerFailure) {
      const wait = waitMs(policy, { retryIndex: attempt - 1, serverWaitMs: askedMs }) ?? 0;
      const nextAt = (yield* currentInstant).unix + wait;
      const state = { _tag: "Retrying", since: since.unix, attempt, nextAt, why: message } as const;
      this.#options.tell({ role: "generator", name: this.#member(server).name, state });
      yield* Effect.sleep(wait);
    },
  );

  /** Whether a server has answered nothing for so long. */
  #strainedFor(server: number, ms: number): Effect.Effect<boolean> {
    return Effect.map(monotonicMillis, (now) => now - (this.#strains.get(server)?.since.monotonic ?? now) >= ms);
  }

  #lose(server: number, since: number, { message }: ServerFailure): void {
    this.#options.tell({
      role: "generator",
      name: this.#member(server).name,
      state: { _tag: "Lost", since, why: message },
    });
    this.#enter(server, "lost");
    if (this.fleet.allLost) this.#end(new PolicyError({ reason: "session_failed", message }));
  }

  /** Ends the policy where no server is up for too long. */
  readonly #outage: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    const { advice, downDeadlineMs, members } = this.#options;
    for (;;) {
      yield* this.#noneUp.await;
      const back = yield* Effect.raceFirst(
        Effect.as(this.#someUp.await, true),
        Effect.as(Effect.sleep(downDeadlineMs), false),
      );
      if (back) continue;
      const names = members.map(({ name }) => name).join(", ");
      const message = `no generation server has answered for ${Math.round(downDeadlineMs / 1000)} s (${names}); ${advice}`;
      this.#end(new PolicyError({ reason: "session_failed", message }));
      return;
    }
  });

  /** Gives every new version to the servers that are up. One that cannot take it is brought back with the newest. */
  readonly #follow: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    const { pins, publisher } = this.#options;
    for (;;) {
      yield* publisher.newer(this.#kept.target.version);
      yield* pins ? this.#adopt : this.#gate.withPermits(GATE)(this.#adopt);
    }
  }).pipe(Effect.catch((error: PolicyError) => Effect.sync(() => this.#end(error))));

  readonly #adopt: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    const start = yield* monotonicMillis;
    const next = yield* this.#kept.aim;
    yield* Effect.forEach(
      this.fleet.up,
      (server) =>
        Effect.catch(this.#member(server).adopt(next), (failure) => Effect.ignore(this.#reactTo(server, failure))),
      { concurrency: "unbounded", discard: true },
    );
    yield* this.#kept.reached;
    this.adoptions.recordAdoption((yield* monotonicMillis) - start);
    this.versions.recordAdoption(0, next.version);
    yield* Effect.forkIn(this.#forget(next.version), this.#scope);
  });

  /** A server that cannot take a version is away, whatever it says of it, or unfit. */
  #reactTo(server: number, failure: ServerFailure): Effect.Effect<void, PolicyError> {
    const { message, reason } = failure;
    return this.#react(server, reason === "unfit" ? failure : failed("away", message));
  }

  /** Old adapters go where nobody uses them. What fails here is found at the server's next request. */
  #forget(newest: Version): Effect.Effect<void> {
    const kept = (version: Version) => this.#kept.has(version);
    const forgotten = (member: Member) => Effect.ignore(member.forget(newest, kept));
    return Effect.forEach(this.#options.members, forgotten, { concurrency: "unbounded", discard: true });
  }

  /** Asks a server for its load now and then, when it has answered, and gives it as many requests as it can take. */
  readonly #weigh = Effect.fnUntraced({ self: this }, function* (this: Crew, server: number) {
    const now = yield* monotonicMillis;
    if (now - (this.#loadAt[server] ?? Number.NEGATIVE_INFINITY) < LOAD_MS) return;
    this.#loadAt[server] = now;
    const member = this.#member(server);
    const weighed = Effect.map(member.measured, (load) => {
      const { fleet } = this;
      fleet.resize(server, placesAfter(fleet.placesOf(server), fleet.openAt(server), load, member.most));
      this.#places.settle();
    });
    yield* Effect.forkIn(Effect.ignore(weighed), this.#scope);
  });
}
