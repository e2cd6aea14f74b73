/**
 * Runs batches of requests in threads, with one reply for each request. A request that keeps its thread much longer than usual is suspected:
 * it goes on there, apart from the rest, which are put back, while another thread takes the place of its own. A batch whose thread dies is put
 * back but for the request it was at, which is tried alone. Invariants: only a request that itself exceeds the time limit of a step, or ends
 * its thread when it runs alone, fails; no more than `spares` suspects are tried at once; what an instance has done is held against it
 * (`Docket`).
 *
 * The time limit is that of one step. A thread notes when it began each request of its batch, so that a long batch of quick steps, a
 * thread that is still starting and answers that are not read yet do not count as a hang.
 */
import { Effect, FiberSet, type Scope } from "effect";
import { EnvironmentError } from "../../domain/Errors.ts";
import type { PresetFrame } from "../contract/Preset.ts";
import type { Answer, Request } from "../contract/Request.ts";
import * as Batcher from "./Batcher.ts";
import * as Crew from "./Crew.ts";
import { Docket } from "./Docket.ts";
import type { Losses } from "./Losses.ts";
import { type Out, Silent, send, watch } from "./Out.ts";
import { Pace } from "./Pace.ts";
import { ThreadLost } from "./Thread.ts";
import { quarantined, Trials } from "./Trials.ts";
import type { Reply } from "./worker.ts";

export interface ThreadsOptions {
  readonly presets: Readonly<Record<string, PresetFrame>>;
  readonly threads: number;
  /** Longest time one step may take, milliseconds. */
  readonly timeoutMs: number;
  /** Threads beside those, for steps under suspicion. */
  readonly spares: number;
  /** Offences after which the steps of an instance fail at once; 0 never. */
  readonly quarantine: number;
  /** Threads of suspects let all others go first. */
  readonly giveWay: boolean;
  /** Of a `RegistryModule`. */
  readonly registry: URL;
}

export interface Threads {
  readonly run: (batch: readonly Request[]) => Effect.Effect<readonly Batcher.Reply<Answer>[]>;
  /** Requests of one batch at most. */
  readonly cap: () => number;
  readonly losses: () => Losses;
}

/** Limits of a request after which a thread that interrupts requests itself should have done so. */
const interruptedAfter = 8;

class Runner implements Threads {
  readonly #crew: Crew.Crew;
  readonly #timeoutMs: number;
  readonly #pace: Pace;
  readonly #docket: Docket;
  readonly #trials: Trials;
  /** Requests of batches that were lost, which are answered with care. */
  readonly #lost = new WeakSet<Request>();

  constructor(crew: Crew.Crew, pace: Pace, docket: Docket, trials: Trials, timeoutMs: number) {
    this.#crew = crew;
    this.#pace = pace;
    this.#docket = docket;
    this.#trials = trials;
    this.#timeoutMs = timeoutMs;
  }

  readonly cap = (): number => this.#pace.cap();

  readonly losses = (): Losses => ({
    threads: this.#crew.lost(),
    hungSeconds: this.#trials.hungMs() / 1000,
    suspects: this.#trials.suspects(),
    quarantined: this.#docket.quarantined(),
    strays: this.#crew.strays(),
  });

  readonly run = (requests: readonly Request[]): Effect.Effect<readonly Batcher.Reply<Answer>[]> =>
    Effect.suspend(() => {
      const barred = requests.map((request) => this.#barred(request));
      const free = requests.filter((_, at) => barred[at] === undefined);
      if (free.length === requests.length) return this.#attempt(requests);
      return Effect.map(free.length === 0 ? Effect.succeed([]) : this.#attempt(free), (replies) => {
        const rest = replies.values();
        return barred.map((reply) => reply ?? rest.next().value ?? new Batcher.PutBack());
      });
    });

  /** The reply to a request that is not run because of what its instance did. */
  #barred(request: Request): Batcher.Reply<Answer> | undefined {
    const status = this.#docket.status(request);
    if (status._tag === "Quarantined") return Effect.succeed(quarantined(status.offences));
    return status._tag === "Held" ? new Batcher.PutBack(status.judged.await) : undefined;
  }

  /** One attempt at a batch. */
  #attempt(requests: readonly Request[]): Effect.Effect<readonly Batcher.Reply<Answer>[]> {
    const timeoutMs = this.#timeoutMs;
    const careful = requests.some((request) => this.#lost.has(request));
    return Effect.flatMap(Effect.orDie(this.#crew.take), (thread) => {
      const wary = this.#trials.wary();
      const stuckMs = this.#pace.stuckAfterMs(requests, timeoutMs, wary);
      const limitMs = wary ? stuckMs : null;
      const out = send(thread, requests, { careful, limitMs, again: true });
      const requestMs = limitMs === null ? stuckMs : limitMs * interruptedAfter;
      return Effect.map(watch(out, { requestMs, silenceMs: timeoutMs }), (seen) => {
        if (seen instanceof ThreadLost) return this.#lostIn(out, thread.standing().at);
        if (!(seen instanceof Silent)) return this.#answered(out, seen);
        if (seen.at === null) return this.#lostIn(out, null);
        return this.#without(out, seen.at, this.#trials.stuck(out, seen.at));
      });
    });
  }

  #answered({ requests, thread }: Out, { answers, times }: Reply): readonly Batcher.Reply<Answer>[] {
    this.#crew.give(thread);
    this.#pace.observe(
      requests,
      times.map((ms, at) => (answers[at]?._tag === "Interrupted" ? null : ms)),
    );
    return requests.map((request, at) => {
      const answer = answers[at];
      if (answer === undefined) return new Batcher.PutBack();
      return answer._tag === "Interrupted" ? this.#trials.alone(request) : Effect.succeed(answer);
    });
  }

  /** The replies of a batch whose thread is gone; `at` is the request it was at. */
  #lostIn(out: Out, at: number | null): readonly Batcher.Reply<Answer>[] {
    this.#crew.discard(out.thread);
    if (at !== null) return this.#without(out, at, this.#trials.alone(out.requests[at]!));
    return out.requests.map((request) => this.#again(request));
  }

  /** All but request `at`, which has its reply, are put back. */
  #without({ requests }: Out, at: number, reply: Effect.Effect<Answer>): readonly Batcher.Reply<Answer>[] {
    return requests.map((request, index) => {
      if (index === at) return reply;
      this.#lost.add(request);
      return new Batcher.PutBack();
    });
  }

  /** A request of a batch that was lost as a whole; the second time it is tried alone. */
  #again(request: Request): Batcher.Reply<Answer> {
    if (this.#lost.has(request)) return this.#trials.alone(request);
    this.#lost.add(request);
    return new Batcher.PutBack();
  }
}

/** Threads of the current scope. Fails with `EnvironmentError` when they cannot load the environments. */
export const make = (options: ThreadsOptions): Effect.Effect<Threads, EnvironmentError, Scope.Scope> =>
  Effect.gen(function* () {
    const { giveWay, presets, quarantine, registry, spares, threads, timeoutMs } = options;
    const fork = yield* FiberSet.makeRuntime<never, unknown, never>();
    const setup = { registry: registry.href, presets };
    const crew = yield* Effect.mapError(
      Crew.make({ setup, threads, most: threads + spares }, fork),
      ({ message }) =>
        new EnvironmentError({
          tag: Object.keys(presets).join(", "),
          message: `the environment threads do not start: ${message}`,
        }),
    );
    const pace = new Pace();
    const docket = new Docket(quarantine);
    const trials = new Trials({ crew, docket, pace, spares, timeoutMs, giveWay, fork });
    return new Runner(crew, pace, docket, trials, timeoutMs);
  });
