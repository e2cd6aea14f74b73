/**
 * Plays asynchronous environments on the main thread: each tag has at most `capacity` requests in flight, in the order of their arrival.
 * Invariants: a refusal, a timeout or a broken answer fails its own request and no other. What a state holds elsewhere is released once, at the
 * latest when the scope closes.
 */
import { Effect, Exit, type Scope } from "effect";
import type { EnvironmentError } from "../../domain/Errors.ts";
import { stream } from "../../domain/Random.ts";
import type { StageSample } from "../../flow/Gauge.ts";
import * as Stage from "../../flow/Stage.ts";
import type { BoundAsyncEnvironment } from "../contract/BoundEnvironment.ts";
import type { ResetRequest, StepFailure, StepRequest } from "../contract/Environments.ts";
import * as Progress from "../contract/Progress.ts";
import { messageOf, prepareAll } from "../contract/prepare.ts";
import { type Answer, type Request, stepFailure, tagOf } from "../contract/Request.ts";
import { callWithTimeout } from "./callWithTimeout.ts";

export interface AsyncRunner {
  readonly call: (request: Request) => Effect.Effect<Answer>;
  /** Releases what `state` holds; does nothing for a state that holds nothing or was released before. */
  readonly release: (tag: string, state: unknown) => Effect.Effect<void>;
  /** Returns one sample of each tag. */
  readonly samples: () => readonly StageSample[];
  /** The most requests in flight at once, over all tags. */
  readonly capacity: number;
}

/** A request to the server or process of an environment. A release waits for its turn like the others. */
type ClientRequest = Request | { readonly _tag: "Release"; readonly state: unknown };
const released = { _tag: "Released" } as const;

interface PlayCallbacks {
  /** It is called after each action. */
  readonly onProgress: (progress: Progress.Progress) => void;
  /** It is called with the state of a step that answers after its request has ended. */
  readonly onLateState: (state: unknown) => void;
}

/** Plays a request's actions one after the other. */
const runActions = Effect.fnUntraced(function* (
  environment: BoundAsyncEnvironment,
  start: Progress.Progress,
  { onProgress: advance, onLateState: late }: PlayCallbacks,
) {
  let progress = start;
  for (;;) {
    const action = Progress.nextAction(environment, progress);
    if (action === null) break;
    const { state } = progress;
    const noise = Progress.nextNoise(progress);
    const transition = yield* callWithTimeout(
      (signal) => environment.step(state, action, noise, signal),
      environment.timeoutMs,
      (answer) => late(answer.state),
    );
    progress = Progress.advance(progress, transition);
    advance(progress);
  }
  const answer: Answer = { _tag: "Stepped", result: Progress.resultOf(environment, progress) };
  return answer;
});

/** Makes the requests of one environment, and tracks which states still hold something elsewhere. */
class Client {
  readonly #environment: BoundAsyncEnvironment;
  /** The states that hold something elsewhere. A step removes its state and adds the next one. */
  readonly #unreleased = new Set<unknown>();

  constructor(environment: BoundAsyncEnvironment) {
    this.#environment = environment;
  }

  /** Returns true if `state` held something; the caller must then release it. */
  forget(state: unknown): boolean {
    return this.#unreleased.delete(state);
  }

  readonly run = (request: ClientRequest): Effect.Effect<Answer | typeof released> => {
    if (request._tag === "Release") return Effect.as(this.#release(request.state), released);
    const answer = request._tag === "Reset" ? this.#reset(request.reset) : this.#step(request.step);
    return answer.pipe(
      Effect.catchDefect((defect) => Effect.fail(stepFailure("step_error", messageOf(defect)))),
      Effect.catchTag("StepFailure", (failure: StepFailure) => Effect.succeed(failure)),
    );
  };

  /** Releases what interrupted episodes left behind. */
  readonly releaseAll = (): Effect.Effect<void> =>
    Effect.forEach([...this.#unreleased], (state) => this.#release(state), {
      concurrency: this.#environment.capacity,
      discard: true,
    });

  #release(state: unknown): Effect.Effect<void> {
    const { release, timeoutMs } = this.#environment;
    return release === null ? Effect.void : Effect.ignore(callWithTimeout(() => release(state), timeoutMs));
  }

  #reset({ instance, split }: ResetRequest): Effect.Effect<Answer, StepFailure> {
    const environment = this.#environment;
    return Effect.map(
      callWithTimeout((signal) => environment.reset(stream(instance), split, signal), environment.timeoutMs),
      (state): Answer => ({ _tag: "View", view: Progress.viewOf(environment, state) }),
    );
  }

  #step(request: StepRequest): Effect.Effect<Answer, StepFailure> {
    return Effect.suspend(() => {
      const wasUnreleased = this.#unreleased.delete(request.state);
      let progress = Progress.begin(request);
      const advance = (next: Progress.Progress): void => {
        progress = next;
      };
      const late = (state: unknown): void => {
        // No fiber is left that could wait: the request has failed, or the scope is closed.
        Effect.runFork(this.#release(state));
      };
      return runActions(this.#environment, progress, { onProgress: advance, onLateState: late }).pipe(
        Effect.onExit((exit) => {
          const { executed, state } = progress;
          // The first state holds nothing, because the members of a group share it.
          if (executed === 0 && !wasUnreleased) return Effect.void;
          if (Exit.isFailure(exit)) return this.#release(state);
          this.#unreleased.add(state);
          return Effect.void;
        }),
      );
    });
  }
}

/** The requests of one environment, served while the scope is open. */
const serveEnvironment = Effect.fnUntraced(function* (environment: BoundAsyncEnvironment) {
  const client = new Client(environment);
  const stage = yield* Stage.service({ name: "step", concurrency: environment.capacity, run: client.run });
  yield* Effect.addFinalizer(client.releaseAll);
  return {
    sample: stage.sample,
    call: (request: Request): Effect.Effect<Answer> =>
      Effect.flatMap(stage.call(request), (answer) =>
        answer._tag === "Released" ? Effect.die("an answer of the wrong kind") : Effect.succeed(answer),
      ),
    release: (state: unknown): Effect.Effect<void> =>
      Effect.suspend(() =>
        client.forget(state) && environment.release !== null
          ? Effect.asVoid(stage.call({ _tag: "Release", state }))
          : Effect.void,
      ),
  };
});

/** Prepares the environments, and plays them while the scope is open. */
export const make = (
  environments: ReadonlyMap<string, BoundAsyncEnvironment>,
): Effect.Effect<AsyncRunner, EnvironmentError, Scope.Scope> =>
  Effect.gen(function* () {
    yield* prepareAll(environments);
    const entries = yield* Effect.forEach([...environments], ([tag, environment]) =>
      Effect.map(serveEnvironment(environment), (server) => [tag, server] as const),
    );
    const servers = new Map(entries);
    return {
      call: (request) =>
        servers.get(tagOf(request))?.call(request) ??
        Effect.succeed(stepFailure("step_error", `no environment is bound to "${tagOf(request)}"`)),
      release: (tag, state) => servers.get(tag)?.release(state) ?? Effect.void,
      samples: () => entries.map(([, { sample }]) => sample()),
      capacity: [...environments.values()].reduce((sum, { capacity }) => sum + capacity, 0),
    };
  });
