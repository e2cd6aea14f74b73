/**
 * The environment contract: a pure state machine. `reset` makes an instance from its own stream, `step` is a pure function of
 * (state, action, noise), `render` of the state. State is structured-cloneable and never mutated, so that any thread can step any
 * episode, a crash loses nothing, and an episode can be checkpointed mid-way.
 */
import type { Schema } from "effect";
import type { Tool } from "../../domain/Conversation.ts";
import type { Random } from "../../domain/Random.ts";

/** Training or validation. Their instances may differ in kind (Bandit's names), never only by seed. */
export type Split = "train" | "val";

/** The result of one step. */
export interface Transition<State, Info> {
  readonly state: State;
  readonly reward: number;
  /** The task itself ended (solved, fell, payout). */
  readonly terminated: boolean;
  /** The environment's own time limit ended it. */
  readonly truncated: boolean;
  readonly info: Info;
  /** The text that answers a call of a tool, or an answer that does not end the episode; absent for text actions. */
  readonly result?: string;
}

/** The fields that every step reports; an environment may add others. Numbers and booleans become metrics. */
export interface BaseInfo {
  readonly success: boolean;
  readonly action_is_effective: boolean;
  readonly action_is_valid: boolean;
}

/** An environment as a pure state machine. Its state is plain data and never changes: `step` returns a new one. */
export interface Environment<Config, State, Info extends BaseInfo = BaseInfo> {
  /** The name by which presets choose the environment (`env_type`). */
  readonly type: string;
  /** The schema of `env_config`; every key has a default. Decoding errors keep the key path. */
  readonly config: Schema.Codec<Config, unknown>;
  readonly reset: (config: Config, instance: Random, split: Split) => State;
  /** `action` is one of `actions(...)` when the environment lists them, free text otherwise. */
  readonly step: (config: Config, state: State, action: string, noise: Random) => Transition<State, Info>;
  /** The observation text, in the configured format. */
  readonly render: (config: Config, state: State) => string;
  /** A short observation for small models (template `compact`), in symbols rather than words. */
  readonly compact: (config: Config, state: State) => string;
  /** The names of the legal actions in canonical spelling, or null for free text. */
  readonly actions: (config: Config, state: State) => readonly string[] | null;
  /**
   * The tools that the model is offered in place of text actions. An action is then a call or an answer (`readAction`), `actions` is null, and
   * `step` throws `IllegalAction` for a call that does not fit its tool. The first state's text is the user's message.
   */
  readonly tools?: (config: Config) => readonly Tool[];
  /** Every reward is a whole number, which prompts show as one: 0, not 0.0. */
  readonly wholeRewards?: true;
  /** The state's text names the actions, which differ between instances; the system message does not list them. */
  readonly actionsInState?: true;
  /** The whole answer of a reply is one action, because nothing in free text separates actions. */
  readonly wholeAnswer?: true;
  /** Lines of the system prompt that explain the symbols and coordinates of this config; empty when there are none. */
  readonly legend: (config: Config) => string;
  /** A shortest action sequence to success, or null when there is none (or no solver applies). */
  readonly solve?: (config: Config, state: State) => readonly string[] | null;
  /** One sensible action where there is no solver, or null when there is none; demonstrations play it. */
  readonly advise?: (config: Config, state: State) => string | null;
  /** The thought of a cloned reply: short, with what matters in the state and what the plan's first actions do. */
  readonly thought?: (config: Config, state: State, plan: readonly string[]) => string;
  /** Identifies the instance by content (equal content, equal key), so that validation can be kept out of training. */
  readonly contentKey: (config: Config, state: State) => string;
  /**
   * Resolves to one sentence for each thing that this config lacks on this machine; it says what to install or set. The member is absent
   * where nothing can be missing.
   */
  readonly lacks?: (config: Config) => Promise<readonly string[]>;
  /**
   * Resolves to sentences that the user should know about the data before a run: rows that are left out, a stand-in that is played. It
   * rejects as `prepare` does.
   */
  readonly report?: (config: Config) => Promise<readonly string[]>;
  /** Loads what `reset` and `step` read, once in each thread before the first of them. Rejects with a sentence for the user. */
  readonly prepare?: (config: Config) => Promise<void>;
}
