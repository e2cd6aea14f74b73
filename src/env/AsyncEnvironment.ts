/**
 * The contract of an environment whose instances or transitions come from elsewhere: a server, a child process. Its state is still
 * structured-cloneable and never mutated, and all it shows is still a pure function of the state; only `reset` and `step` wait. A state
 * that holds something elsewhere names it (a session's id) and gives it back by `release`.
 */
import type { Random } from "../domain/Random.ts";
import type { BaseInfo, Environment, Split, Transition } from "./Environment.ts";

/** What a prompt says of an environment whatever the state, and how its answers are read. */
export interface Introduction {
  readonly type: string;
  readonly legend: string;
  readonly wholeAnswer: boolean;
}

export interface AsyncEnvironment<Config, State, Info extends BaseInfo = BaseInfo>
  extends Omit<Environment<Config, State, Info>, "reset" | "step" | "solve" | "advise" | "thought"> {
  /** Tells it from an `Environment`. */
  readonly asynchronous: true;
  /**
   * The state may be shared by the members of a group, so it holds nothing elsewhere: what an episode needs there is made by its first
   * `step`. Rejects where there is no instance to be had; that costs the group. `signal` aborts when nobody waits any more.
   */
  readonly reset: (config: Config, instance: Random, split: Split, signal: AbortSignal) => Promise<State>;
  /**
   * Rejects where the other side fails or answers nonsense; that costs this episode and no other. What the state it was given holds is
   * then released; what this step made, and no state names yet, is its own to give back, also when `signal` aborts.
   */
  readonly step: (
    config: Config,
    state: State,
    action: string,
    noise: Random,
    signal: AbortSignal,
  ) => Promise<Transition<State, Info>>;
  /**
   * Gives back what the last state of an episode holds elsewhere; one that holds nothing is given too. Never rejects. A `step` that
   * answers after its time has its state released as well, which may hold what was given back before.
   */
  readonly release?: (config: Config, state: State) => Promise<void>;
  /**
   * What only the other side knows of the environment: it stands in the place of what is said here. Asked once, before the first reset.
   * Rejects with a sentence for the user.
   */
  readonly describe?: (config: Config) => Promise<Partial<Introduction>>;
  /** Requests in flight at most. */
  readonly capacity: (config: Config) => number;
  /** How long one `reset` or `step` may take, in milliseconds. */
  readonly timeoutMs: (config: Config) => number;
}
