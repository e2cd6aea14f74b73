/**
 * The runtime of environments that wait, on the main thread: requests enter, each tag has at most `capacity` in flight in the order they
 * came, answers leave. Invariants: what a request comes to costs nobody else (a refusal, a silence, a broken answer are its own failure);
 * whatever an episode holds elsewhere is given back once, by `release`, by the request that failed with it, or at the latest when the
 * scope closes.
 */
import { Effect, Exit, type Scope } from "effect";
import type { EnvironmentError } from "../../domain/Errors.ts";
import { stream } from "../../domain/Random.ts";
import type { StageSample } from "../../stage/Gauge.ts";
import * as Stage from "../../stage/Stage.ts";
import type { BoundAsyncEnvironment } from "../BoundEnvironment.ts";
import type { ResetRequest, StepFailure, StepRequest } from "../Environments.ts";
import * as Progress from "../Progress.ts";
import { prepareAll, sentenceOf } from "../prepare.ts";
import { type Answer, type Request, stepFailure, tagOf } from "../Request.ts";
import { ask } from "./ask.ts";

export interface Waiting {
  readonly call: (request: Request) => Effect.Effect<Answer>;
  /** Gives back what `state` holds; nothing where it was given back before or holds nothing. */
  readonly release: (tag: string, state: unknown) => Effect.Effect<void>;
  /** One sample of each tag. */
  readonly samples: () => readonly StageSample[];
  /** Requests in flight at most, over all tags. */
  readonly capacity: number;
}

/** What is asked of the other side; a release is a request like the others, and waits for its turn. */
type Job = Request | { readonly _tag: "Release"; readonly state: unknown };
const released = { _tag: "Released" } as const;

/** The requests of one environment, which hold what its states hold while the scope is open. */
const line = Effect.fnUntraced(function* (environment: BoundAsyncEnvironment) {
  const { timeoutMs } = environment;
  // States that episodes may still hold something by. A request takes its state out, and puts in the one it leaves.
  const held = new Set<unknown>();

  const giveBack = (state: unknown): Effect.Effect<void> => {
    const { release } = environment;
    return release === null ? Effect.void : Effect.ignore(ask(() => release(state), timeoutMs));
  };
  // Nobody is left to wait for it: the request it belongs to has failed, the scope may be closed.
  const late = (state: unknown): void => void Effect.runFork(giveBack(state));

  const reset = ({ instance, split }: ResetRequest): Effect.Effect<Answer, StepFailure> =>
    Effect.map(
      ask((signal) => environment.reset(stream(instance), split, signal), timeoutMs),
      (state): Answer => ({ _tag: "View", view: Progress.viewOf(environment, state) }),
    );

  const step = (request: StepRequest): Effect.Effect<Answer, StepFailure> =>
    Effect.suspend(() => {
      const wasHeld = held.delete(request.state);
      let progress = Progress.begin(request);
      return Effect.gen(function* () {
        for (;;) {
          const action = Progress.next(environment, progress);
          if (action === null) break;
          const { state } = progress;
          const noise = Progress.noise(progress);
          const transition = yield* ask(
            (signal) => environment.step(state, action, noise, signal),
            timeoutMs,
            (answer) => late(answer.state),
          );
          progress = Progress.after(progress, transition);
        }
        const answer: Answer = { _tag: "Stepped", result: Progress.resultOf(environment, progress) };
        return answer;
      }).pipe(
        Effect.onExit((exit) => {
          const { executed, state } = progress;
          // The instance itself holds nothing, and the members of a group share it.
          if (executed === 0 && !wasHeld) return Effect.void;
          if (Exit.isFailure(exit)) return giveBack(state);
          held.add(state);
          return Effect.void;
        }),
      );
    });

  const run = (job: Job): Effect.Effect<Answer | typeof released> => {
    if (job._tag === "Release") return Effect.as(giveBack(job.state), released);
    const answered = job._tag === "Reset" ? reset(job.reset) : step(job.step);
    return answered.pipe(
      Effect.catchDefect((defect) => Effect.fail(stepFailure("step_error", sentenceOf(defect)))),
      Effect.catchTag("StepFailure", (failure: StepFailure) => Effect.succeed(failure)),
    );
  };
  const stage = yield* Stage.service({ name: "step", concurrency: environment.capacity, run });

  // The scope's end is the last moment to give back what an interrupted episode left behind.
  yield* Effect.addFinalizer(() =>
    Effect.forEach([...held], giveBack, { concurrency: environment.capacity, discard: true }),
  );

  return {
    sample: stage.sample,
    call: (request: Request): Effect.Effect<Answer> =>
      Effect.flatMap(stage.call(request), (answer) =>
        answer._tag === "Released" ? Effect.die("an answer of the wrong kind") : Effect.succeed(answer),
      ),
    release: (state: unknown): Effect.Effect<void> =>
      Effect.suspend(() =>
        held.delete(state) && environment.release !== null
          ? Effect.asVoid(stage.call({ _tag: "Release", state }))
          : Effect.void,
      ),
  };
});

/** Prepares the environments, and plays them while the scope is open. */
export const make = (
  environments: ReadonlyMap<string, BoundAsyncEnvironment>,
): Effect.Effect<Waiting, EnvironmentError, Scope.Scope> =>
  Effect.gen(function* () {
    yield* prepareAll(environments);
    const entries = yield* Effect.forEach([...environments], ([tag, environment]) =>
      Effect.map(line(environment), (made) => [tag, made] as const),
    );
    const lines = new Map(entries);
    return {
      call: (request) =>
        lines.get(tagOf(request))?.call(request) ??
        Effect.succeed(stepFailure("step_error", `no environment is bound to "${tagOf(request)}"`)),
      release: (tag, state) => lines.get(tag)?.release(state) ?? Effect.void,
      samples: () => entries.map(([, { sample }]) => sample()),
      capacity: [...environments.values()].reduce((sum, { capacity }) => sum + capacity, 0),
    };
  });
