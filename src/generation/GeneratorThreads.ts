/**
 * Requests over running generator threads: each goes to the thread that holds its sequence, a new sequence to the thread with the fewest.
 * Invariants: a sequence stays on the thread it was opened on; a pinned version is kept in every thread while any sequence is pinned to it.
 */
import type { MessagePort } from "node:worker_threads";
import { Effect, type Scope } from "effect";
import type { Sampled, Version } from "../domain/Episode.ts";
import type { PolicyError } from "../domain/Errors.ts";
import type { Thread } from "../model/runtime/Thread.ts";
import type { CommonVersion } from "./CommonVersion.ts";
import type { GeneratorProtocol } from "./Messages.ts";
import type { GenerateRequest, ThreadGauges } from "./Policy.ts";
import { together } from "./together.ts";

export interface GeneratorThread {
  readonly thread: Thread<GeneratorProtocol, PolicyError>;
  /** The learner's end of the weights' channel. */
  readonly port: MessagePort;
}

interface Member extends GeneratorThread {
  /** Open sequences. */
  load: number;
}

/** Where a sequence was opened, and the version it is pinned to. */
interface Home {
  readonly member: Member;
  readonly pin: Version | null;
}

export class GeneratorThreads {
  readonly #members: readonly Member[];
  readonly #versions: CommonVersion;
  readonly #scope: Scope.Scope;
  readonly #homes = new Map<number, Home>();
  /** How many sequences are pinned to a version. */
  readonly #pins = new Map<Version, number>();

  /** Calls whose answer nobody waits for run in `scope`. */
  constructor(threads: readonly GeneratorThread[], versions: CommonVersion, scope: Scope.Scope) {
    this.#members = threads.map((thread) => ({ ...thread, load: 0 }));
    this.#versions = versions;
    this.#scope = scope;
  }

  generate(request: GenerateRequest): Effect.Effect<Sampled, PolicyError> {
    return Effect.gen({ self: this }, function* () {
      const home = this.#homes.get(request.sequence) ?? (yield* this.#open(request));
      // A view would travel with the whole buffer it looks into.
      return yield* home.member.thread.call("generate", { ...request, append: request.append.slice() });
    });
  }

  release(sequence: number): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const home = this.#homes.get(sequence);
      if (home === undefined) return;
      this.#homes.delete(sequence);
      home.member.load--;
      yield* this.#send(home.member.thread.call("release", sequence));
      if (home.pin !== null) yield* this.#unpin(home.pin);
    });
  }

  /** Holds the newest common version in every thread, and gives it. Undone by `unhold`. */
  readonly hold: Effect.Effect<Version, PolicyError> = Effect.gen({ self: this }, function* () {
    for (;;) {
      const version = this.#versions.newest;
      const held = yield* this.#everywhere(({ thread }) => thread.call("hold", version));
      if (held.every((kept) => kept)) return version;
      // A thread has gone on by two versions meanwhile; the next version common to all is newer.
      const undo = this.#members.filter((_, index) => held[index]);
      yield* Effect.forEach(undo, ({ thread }) => thread.call("unhold", version));
    }
  });

  unhold(version: Version): Effect.Effect<void> {
    return Effect.ignore(this.#everywhere(({ thread }) => thread.call("unhold", version)));
  }

  readonly gauges: Effect.Effect<ThreadGauges, PolicyError> = Effect.suspend(() =>
    Effect.map(
      this.#everywhere(({ thread }) => thread.call("gauges", null)),
      together,
    ),
  );

  #open({ pin, sequence }: GenerateRequest): Effect.Effect<Home> {
    const member = this.#members.reduce((least, other) => (other.load < least.load ? other : least));
    const home: Home = { member, pin };
    this.#homes.set(sequence, home);
    member.load++;
    return Effect.as(pin === null ? Effect.void : this.#pin(pin), home);
  }

  #pin(version: Version): Effect.Effect<void> {
    const count = this.#pins.get(version) ?? 0;
    this.#pins.set(version, count + 1);
    return count > 0 ? Effect.void : this.#send(this.#everywhere(({ thread }) => thread.call("hold", version)));
  }

  #unpin(version: Version): Effect.Effect<void> {
    const count = (this.#pins.get(version) ?? 0) - 1;
    if (count > 0) {
      this.#pins.set(version, count);
      return Effect.void;
    }
    this.#pins.delete(version);
    return this.#send(this.#everywhere(({ thread }) => thread.call("unhold", version)));
  }

  #everywhere<A>(call: (member: Member) => Effect.Effect<A, PolicyError>): Effect.Effect<A[], PolicyError> {
    return Effect.forEach(this.#members, call, { concurrency: "unbounded" });
  }

  /** Makes a call whose answer nobody waits for; it keeps its place on the port before the calls that follow. */
  #send(call: Effect.Effect<unknown, PolicyError>): Effect.Effect<void> {
    return Effect.asVoid(Effect.forkIn(Effect.ignore(call), this.#scope, { startImmediately: true }));
  }
}
