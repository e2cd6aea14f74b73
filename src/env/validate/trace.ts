/**
 * Plays fixed actions on one instance without a model, and returns one line per action; line 0 is the reset. Action names match in any case,
 * and no action is played after the end of the episode. Equal input gives equal lines.
 */
import { Effect } from "effect";
import { EnvironmentError } from "../../domain/Errors.ts";
import { type Random, stream } from "../../domain/Random.ts";
import { callWithTimeout } from "../asynchronous/callWithTimeout.ts";
import type { AnyEnvironment } from "../contract/BoundEnvironment.ts";
import { IllegalAction } from "../contract/IllegalAction.ts";
import { NoInstance } from "../contract/NoInstance.ts";

export interface TraceLine {
  readonly t: number;
  readonly observation: string;
  /** The text that answers a call of a tool; absent of text actions. */
  readonly result?: string;
  readonly reward: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
  readonly success: boolean;
  readonly info: Readonly<Record<string, number | boolean>>;
}

/** The canonical spelling of an action that a person wrote, whatever its case; null if no legal name matches. */
export const canonicalAction = (valid: readonly string[] | null, written: string): string | null => {
  if (valid === null) return written;
  const lower = written.toLowerCase();
  return valid.find((name) => name.toLowerCase() === lower) ?? null;
};

/** Splits a text at `||` into actions; empty parts are dropped. */
export const splitActions = (text: string): readonly string[] =>
  text
    .split("||")
    .map((part) => part.trim())
    .filter((part) => part !== "");

/** One interface for both kinds of environment, with the time limits of the asynchronous ones. */
const tracedEnvironment = (environment: AnyEnvironment) => {
  if (!environment.asynchronous) {
    return {
      reset: (instance: Random) =>
        Effect.suspend(() => {
          try {
            return Effect.succeed(environment.reset(instance, "train"));
          } catch (error) {
            if (!(error instanceof NoInstance)) throw error;
            return Effect.fail(error);
          }
        }),
      step: (state: unknown, action: string, noise: Random) =>
        Effect.sync(() => environment.step(state, action, noise)),
      release: () => Effect.void,
    };
  }
  const { release, timeoutMs, type } = environment;
  const withTimeout = <A>(call: (signal: AbortSignal) => Promise<A>): Effect.Effect<A, EnvironmentError> =>
    Effect.mapError(callWithTimeout(call, timeoutMs), ({ message }) => new EnvironmentError({ tag: type, message }));
  return {
    reset: (instance: Random) => withTimeout((signal) => environment.reset(instance, "train", signal)),
    step: (state: unknown, action: string, noise: Random) =>
      withTimeout((signal) => environment.step(state, action, noise, signal)),
    release: (state: unknown) => (release === null ? Effect.void : Effect.ignore(withTimeout(() => release(state)))),
  };
};

/**
 * All lines, or an error for the first unknown action, even one after the end of the episode. The seed gives the instance, and the noise of
 * action t has a stream of its own. The last state is released.
 */
export const trace = Effect.fnUntraced(function* (
  environment: AnyEnvironment,
  seed: number,
  actions: readonly string[],
) {
  const { release, reset, step } = tracedEnvironment(environment);
  let state: unknown = yield* reset(stream({ seed, purpose: "instance", counters: [] }));
  const play = Effect.gen(function* () {
    let ended = false;
    const lines: TraceLine[] = [
      {
        t: 0,
        observation: environment.render(state),
        reward: 0,
        terminated: false,
        truncated: false,
        success: false,
        info: {},
      },
    ];
    for (const [index, written] of actions.entries()) {
      const valid = environment.actions(state);
      const action = canonicalAction(valid, written);
      if (action === null) {
        return yield* new IllegalAction({ env_type: environment.type, action: written, valid: valid ?? [] });
      }
      if (ended) continue;
      const transition = yield* step(state, action, stream({ seed, purpose: "noise", counters: [index] }));
      state = transition.state;
      ended = transition.terminated || transition.truncated;
      lines.push({
        t: index + 1,
        observation: environment.render(state),
        ...(transition.result === undefined ? {} : { result: transition.result }),
        reward: transition.reward,
        terminated: transition.terminated,
        truncated: transition.truncated,
        success: transition.info.success,
        info: { ...transition.info },
      });
    }
    const allLines: readonly TraceLine[] = lines;
    return allLines;
  });
  return yield* Effect.ensuring(
    play,
    Effect.suspend(() => release(state)),
  );
});
