/**
 * Tries requests that are suspected of hanging or of ending their thread, apart from all others and no more than `spares` at once. Invariants:
 * a request is found guilty only when it exceeded the time limit by its own clock and had more of a processor than its like need, or when it
 * ended a thread that it had to itself; every trial ends with an answer and one verdict.
 */
import { Effect, Fiber } from "effect";
import * as Slots from "../../flow/admission/Slots.ts";
import { type Answer, type Request, stepFailure } from "../contract/Request.ts";
import type { Crew } from "./Crew.ts";
import type { Docket } from "./Docket.ts";
import { type Out, Silent, send, watch } from "./Out.ts";
import type { Pace } from "./Pace.ts";
import { ThreadLost } from "./Thread.ts";

export interface TrialOptions {
  readonly crew: Crew;
  readonly docket: Docket;
  readonly pace: Pace;
  readonly spares: number;
  readonly timeoutMs: number;
  readonly giveWay: boolean;
  /** Starts a fiber that outlives its caller. */
  readonly fork: <A>(effect: Effect.Effect<A>) => Fiber.Fiber<A>;
}

/** Time in which a thread that interrupts requests itself should have done so, before it is ended. */
const graceMs = 500;

/** Not known: the thread was lost in company. */
const unknown = "unknown";
/** Not known: the thread gave way to others all the time. */
const deprived = "deprived";

const crashed = (message: string): Answer => stepFailure("step_crashed", message);

export const quarantined = (offences: number): Answer =>
  stepFailure(
    "step_quarantined",
    `its instance hung or ended its thread ${offences} times before; such an instance is not stepped any more (pipeline.step_quarantine)`,
  );

export class Trials {
  readonly #options: TrialOptions;
  readonly #lane: Slots.Slots;
  readonly #fair = Slots.makeUnsafe(1);
  #wary = false;
  #suspects = 0;
  #hungMs = 0;

  constructor(options: TrialOptions) {
    this.#options = options;
    this.#lane = Slots.makeUnsafe(options.spares);
  }

  /** A request has been at it for so long that others are better interrupted in their threads than waited for. */
  wary(): boolean {
    return this.#wary;
  }

  /** Requests on trial, or waiting for it. */
  suspects(): number {
    return this.#suspects;
  }

  /** Milliseconds of threads in requests that hung. */
  hungMs(): number {
    return this.#hungMs;
  }

  /**
   * The answer to request `at` of a batch that is at it for too long. It goes on in its thread; where as many are on trial as may be, the
   * thread is ended and the request tried later.
   */
  stuck(out: Out, at: number): Effect.Effect<Answer> {
    out.thread.cut();
    this.#options.crew.troubled();
    const request = out.requests[at]!;
    if (this.#lane.tryAcquire()) {
      return this.#begin(request, Effect.ensuring(this.#here(request, out, at), Effect.sync(this.#lane.release)));
    }
    this.#options.crew.discard(out.thread);
    return this.alone(request);
  }

  /** The answer to a request that may hang, or have ended its thread: it is made again, with a thread to itself. */
  alone(request: Request): Effect.Effect<Answer> {
    const status = this.#options.docket.status(request);
    if (status._tag === "Quarantined") return Effect.succeed(quarantined(status.offences));
    if (status._tag === "Held") {
      return Effect.andThen(
        status.judged.await,
        Effect.suspend(() => this.alone(request)),
      );
    }
    return this.#begin(
      request,
      Effect.andThen(
        this.#lane.acquire,
        Effect.ensuring(
          Effect.suspend(() => this.#alone(request)),
          Effect.sync(this.#lane.release),
        ),
      ),
    );
  }

  /** A trial goes on whether its caller waits or not, because others wait for its verdict. */
  #begin(request: Request, trial: Effect.Effect<Answer>): Effect.Effect<Answer> {
    this.#suspects++;
    this.#options.docket.suspect(request);
    const fiber = this.#options.fork(
      Effect.ensuring(
        trial,
        Effect.sync(() => this.#suspects--),
      ),
    );
    return Fiber.join(fiber);
  }

  #here(request: Request, out: Out, at: number): Effect.Effect<Answer> {
    return Effect.flatMap(this.#judged(request, out, at), (answer) =>
      answer === unknown || answer === deprived ? this.#alone(request) : Effect.succeed(answer),
    );
  }

  #alone(request: Request, fairly = false): Effect.Effect<Answer> {
    const { crew, docket, timeoutMs } = this.#options;
    const status = docket.status(request);
    if (status._tag === "Quarantined") {
      docket.judge(request, "innocent");
      return Effect.succeed(quarantined(status.offences));
    }
    const how = { careful: true, limitMs: timeoutMs, again: false };
    return Effect.flatMap(Effect.orDie(fairly ? crew.take : crew.takeSlow), (thread) =>
      Effect.flatMap(this.#judged(request, send(thread, [request], how), 0, fairly), (answer) => {
        if (answer === deprived) return this.#fairly(request);
        if (answer !== unknown) return Effect.succeed(answer);
        docket.judge(request, "guilty");
        return Effect.succeed(crashed("the thread gave no answer"));
      }),
    );
  }

  /** One at a time, because it takes its time from all others. */
  #fairly(request: Request): Effect.Effect<Answer> {
    return Effect.andThen(
      this.#fair.acquire,
      Effect.ensuring(
        Effect.suspend(() => this.#alone(request, true)),
        Effect.sync(this.#fair.release),
      ),
    );
  }

  /** Once the request is far too late, its thread gives way, and has the rest of its time. */
  #patiently(request: Request, out: Out, at: number, fairly: boolean) {
    const { giveWay, pace, timeoutMs } = this.#options;
    const yieldAfterMs = pace.yieldAfterMs(request);
    // A thread that gave way may be late in interrupting.
    const grace = out.thread.yields() ? timeoutMs : graceMs;
    const requestMs = out.limitMs === timeoutMs ? timeoutMs + grace : timeoutMs;
    const last = watch(out, { requestMs, silenceMs: timeoutMs });
    if (yieldAfterMs >= timeoutMs) return last;
    return Effect.flatMap(watch(out, { requestMs: yieldAfterMs, silenceMs: timeoutMs }), (seen) => {
      if (!(seen instanceof Silent) || seen.at !== at) return Effect.succeed(seen);
      this.#wary = true;
      if (giveWay && !fairly) out.thread.giveWay();
      return last;
    });
  }

  #hung(request: Request, spentMs: number): Answer {
    this.#wary = true;
    this.#hungMs += spentMs;
    this.#options.docket.judge(request, "guilty");
    return stepFailure("step_timeout", `no answer after ${this.#options.timeoutMs} ms`);
  }

  /** The answer with its verdict, or why there is none. `fairly` lets the thread not give way. */
  #judged(
    request: Request,
    out: Out,
    at: number,
    fairly = false,
  ): Effect.Effect<Answer | typeof unknown | typeof deprived> {
    const { crew, docket, pace, timeoutMs } = this.#options;
    const gaveWay = out.thread.yields();
    return Effect.map(this.#patiently(request, out, at, fairly), (seen) => {
      if (seen instanceof Silent) {
        crew.discard(out.thread);
        if (seen.at !== at) return unknown;
        return this.#hung(request, seen.spentMs);
      }
      if (seen instanceof ThreadLost) {
        crew.discard(out.thread);
        if (out.requests.length > 1) return unknown;
        docket.judge(request, "guilty");
        return crashed(seen.message);
      }
      crew.give(out.thread);
      const answer = seen.answers[at];
      if (answer === undefined) return unknown;
      if (answer._tag === "Interrupted") {
        const ample = (answer.cpuMs ?? 0) >= pace.amplyMs(request);
        // One that blocks has no processor because it asks for none.
        const idle = answer.deprivedMs !== null && answer.deprivedMs < timeoutMs / 2;
        return !gaveWay || ample || idle ? this.#hung(request, timeoutMs) : deprived;
      }
      if (!out.thread.yields()) pace.observe(out.requests, seen.times);
      docket.judge(request, "innocent");
      return answer;
    });
  }
}
