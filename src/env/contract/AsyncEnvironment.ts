/**
 * The contract of an environment backed by an external server or process. Its state is still structured-cloneable and never mutated, and
 * what it shows is still a pure function of the state; only `reset` and `step` are asynchronous. A state may refer to something held
 * elsewhere (a session's id), which `release` frees.
 */
import type { Tool } from "../../domain/Conversation.ts";
import type { Random } from "../../domain/Random.ts";
import type { BaseInfo, Environment, Split, Transition } from "./Environment.ts";

/** The part of a prompt that is the same in every state of an environment, and the rules by which replies are read. */
export interface Introduction {
  readonly type: string;
  /** Explains the symbols of a state; may be empty. */
  readonly legend: string;
  /** The whole answer of a reply is one action. */
  readonly wholeAnswer: boolean;
  /** Rewards are whole numbers, and shown so. */
  readonly wholeRewards: boolean;
  /** The state's text names the actions. */
  readonly actionsInState: boolean;
  /** Tools that the model is offered in place of text actions; absent for text actions. */
  readonly tools?: readonly Tool[];
}

/** An environment on a server or in another process. `reset` and `step` are asynchronous; the rest is as in `Environment`. */
export interface AsyncEnvironment<Config, State, Info extends BaseInfo = BaseInfo>
  extends Omit<Environment<Config, State, Info>, "reset" | "step" | "solve" | "advise" | "thought"> {
  /** Distinguishes it from an `Environment`. */
  readonly asynchronous: true;
  /**
   * The members of a group may share the state, so that it must hold nothing elsewhere: the first `step` of an episode makes what it needs
   * there. A rejection fails the group. `signal` aborts when the result is no longer needed.
   */
  readonly reset: (config: Config, instance: Random, split: Split, signal: AbortSignal) => Promise<State>;
  /**
   * Rejects where the server fails or its answer is invalid; that fails this episode and no other. The engine then releases the state that
   * was given; a step itself frees what it made and no state refers to yet, also when `signal` aborts.
   */
  readonly step: (
    config: Config,
    state: State,
    action: string,
    noise: Random,
    signal: AbortSignal,
  ) => Promise<Transition<State, Info>>;
  /**
   * Frees what the last state of an episode holds elsewhere; it is also called for a state that holds nothing. Never rejects. The state of
   * a `step` that answers after its timeout is released as well, and may hold what was freed before.
   */
  readonly release?: (config: Config, state: State) => Promise<void>;
  /**
   * Asks the server for the values that only it knows; they replace the values given here. The engine calls it once, before the first
   * reset. It rejects with a sentence for the user.
   */
  readonly describe?: (config: Config) => Promise<Partial<Introduction>>;
  /** The most requests that may be in flight at once. */
  readonly capacity: (config: Config) => number;
  /** The time limit of one `reset` or `step`, in milliseconds. */
  readonly timeoutMs: (config: Config) => number;
}
