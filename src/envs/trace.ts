/**
 * Fixed actions played on one instance, without a model: a bound environment, a seed and action names in any case enter; one line per
 * action leaves, line 0 being the reset. Nothing is played after the end of the episode. Equal input gives equal lines.
 */
import { Result } from "effect";
import { stream } from "../domain/Random.ts";
import type { BoundEnvironment } from "./BoundEnvironment.ts";
import { IllegalAction } from "./IllegalAction.ts";

export interface TraceLine {
  readonly t: number;
  readonly observation: string;
  readonly reward: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
  readonly success: boolean;
  readonly info: Readonly<Record<string, number | boolean>>;
}

/** The canonical spelling of an action a person wrote: legal names match whatever their case; null when there is none. */
export const canonicalAction = (valid: readonly string[] | null, written: string): string | null => {
  if (valid === null) return written;
  const lower = written.toLowerCase();
  return valid.find((name) => name.toLowerCase() === lower) ?? null;
};

/** Actions separated by `||`; empty parts are dropped. */
export const splitActions = (text: string): readonly string[] =>
  text
    .split("||")
    .map((part) => part.trim())
    .filter((part) => part !== "");

/**
 * All lines, or the first unknown action, also where it stands after the end of the episode. The instance is that of the seed, the
 * noise of action t a stream of its own.
 */
export const trace = (
  environment: BoundEnvironment,
  seed: number,
  actions: readonly string[],
): Result.Result<readonly TraceLine[], IllegalAction> => {
  let state = environment.reset(stream({ seed, purpose: "instance", counters: [] }), "train");
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
      return Result.fail(new IllegalAction({ env_type: environment.type, action: written, valid: valid ?? [] }));
    }
    if (ended) continue;
    const transition = environment.step(state, action, stream({ seed, purpose: "noise", counters: [index] }));
    state = transition.state;
    ended = transition.terminated || transition.truncated;
    lines.push({
      t: index + 1,
      observation: environment.render(state),
      reward: transition.reward,
      terminated: transition.terminated,
      truncated: transition.truncated,
      success: transition.info.success,
      info: { ...transition.info },
    });
  }
  return Result.succeed(lines);
};
