/**
 * Requests over generator threads. A new sequence goes to the thread with the fewest sequences. Invariants: a sequence stays on its thread;
 * a pinned version is kept in every thread while any sequence is pinned to it.
 */
import type { MessagePort } from "node:worker_threads";
import { Effect, type Scope } from "effect";
import type { Sampled, Version } from "../domain/Episode.ts";
import type { PolicyError } from "../domain/Errors.ts";
import { sum } from "../flow/Gauge.ts";
import type { Thread } from "../model/runtime/Thread.ts";
import type { CommonVersion } from "./CommonVersion.ts";
import type { GeneratorProtocol } from "./GeneratorProtocol.ts";
import type { GenerateRequest, ThreadGauges } from "./Policy.ts";

export interface GeneratorThread {
  readonly thread: Thread<GeneratorProtocol, PolicyError>;
  /** The learner's end of the channel for weights. */
  readonly port: MessagePort;
}

interface LoadedThread extends GeneratorThread {
  /** Number of open sequences. */
  load: number;
}

/** The thread of an open sequence, and the version that it is pinned to. */
interface Assignment {
  readonly assignee: LoadedThread;
  readonly pin: Version | null;
}

const addGauges = (a: ThreadGauges, b: ThreadGauges): ThreadGauges => ({
  version: Math.min(a.version, b.version),
  slots: a.slots + b.slots,
  active: a.active + b.active,
  idle: a.idle + b.idle,
  sampledTokens: a.sampledTokens + b.sampledTokens,
  prefilledTokens: a.prefilledTokens + b.prefilledTokens,
  refedTokens: a.refedTokens + b.refedTokens,
  decodeSteps: a.decodeSteps + b.decodeSteps,
  splitSteps: a.splitSteps + b.splitSteps,
  adoptions: a.adoptions + b.adoptions,
  adoptionMs: {
    last: Math.max(a.adoptionMs.last, b.adoptionMs.last),
    max: Math.max(a.adoptionMs.max, b.adoptionMs.max),
  },
  threads: sum(a.threads, b.threads),
});

/** Adds up the gauges of one or more threads. The version is the oldest, the adoption times are the longest. */
export const mergeGauges = (gauges: readonly ThreadGauges[]): ThreadGauges => gauges.reduce(addGauges);

export class GeneratorThreads {
  readonly #threads: readonly LoadedThread[];
  readonly #versions: CommonVersion;
  readonly #scope: Scope.Scope;
  readonly #assignments = new Map<number, Assignment>();
  /** Number of sequences pinned to each version. */
  readonly #pins = new Map<Version, number>();

  /** Calls without a waiting caller run in `scope`. */
  constructor(threads: readonly GeneratorThread[], versions: CommonVersion, scope: Scope.Scope) {
    this.#threads = threads.map((thread) => ({ ...thread, load: 0 }));
    this.#versions = versions;
    this.#scope = scope;
  }

  generate(request: GenerateRequest): Effect.Effect<Sampled, PolicyError> {
    return Effect.gen({ self: this }, function* () {
      const assignment = this.#assignments.get(request.sequence) ?? (yield* this.#open(request));
      // The ids are copied, because a view would be sent with its whole buffer.
      return yield* assignment.assignee.thread.call("generate", { ...request, append: request.append.slice() });
    });
  }

  release(sequence: number): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const assignment = this.#assignments.get(sequence);
      if (assignment === undefined) return;
      this.#assignments.delete(sequence);
      assignment.assignee.load--;
      yield* this.#send(assignment.assignee.thread.call("release", sequence));
      if (assignment.pin !== null) yield* this.#unpin(assignment.pin);
    });
  }

  /** Holds the newest common version in every thread and returns it; `unhold` undoes it. */
  readonly hold: Effect.Effect<Version, PolicyError> = Effect.gen({ self: this }, function* () {
    for (;;) {
      const version = this.#versions.newest;
      const holds = yield* this.#callEach(({ thread }) => thread.call("hold", version));
      if (holds.every((isHeld) => isHeld)) return version;
      // A thread has adopted two versions meanwhile, so the next common version is newer.
      const holders = this.#threads.filter((_, index) => holds[index]);
      yield* Effect.forEach(holders, ({ thread }) => thread.call("unhold", version));
    }
  });

  unhold(version: Version): Effect.Effect<void> {
    return Effect.ignore(this.#callEach(({ thread }) => thread.call("unhold", version)));
  }

  readonly gauges: Effect.Effect<ThreadGauges, PolicyError> = Effect.suspend(() =>
    Effect.map(
      this.#callEach(({ thread }) => thread.call("gauges", null)),
      mergeGauges,
    ),
  );

  #open({ pin, sequence }: GenerateRequest): Effect.Effect<Assignment> {
    const assignee = this.#threads.reduce((least, other) => (other.load < least.load ? other : least));
    const assignment: Assignment = { assignee, pin };
    this.#assignments.set(sequence, assignment);
    assignee.load++;
    return Effect.as(pin === null ? Effect.void : this.#pin(pin), assignment);
  }

  #pin(version: Version): Effect.Effect<void> {
    const count = this.#pins.get(version) ?? 0;
    this.#pins.set(version, count + 1);
    return count > 0 ? Effect.void : this.#send(this.#callEach(({ thread }) => thread.call("hold", version)));
  }

  #unpin(version: Version): Effect.Effect<void> {
    const count = (this.#pins.get(version) ?? 0) - 1;
    if (count > 0) {
      this.#pins.set(version, count);
      return Effect.void;
    }
    this.#pins.delete(version);
    return this.#send(this.#callEach(({ thread }) => thread.call("unhold", version)));
  }

  #callEach<A>(call: (assignee: LoadedThread) => Effect.Effect<A, PolicyError>): Effect.Effect<A[], PolicyError> {
    return Effect.forEach(this.#threads, call, { concurrency: "unbounded" });
  }

  /** Makes a call without waiting for its answer. It is sent before all later calls. */
  #send(call: Effect.Effect<unknown, PolicyError>): Effect.Effect<void> {
    return Effect.asVoid(Effect.forkIn(Effect.ignore(call), this.#scope, { startImmediately: true }));
  }
}
