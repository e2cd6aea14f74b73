/**
 * An environment with its decoded configuration, for whoever holds episodes of several kinds at once. The types of configuration
 * and state are hidden: a state that came out of a bound environment goes back into the same one, as `unknown`, by value.
 */
import type { Result, Schema } from "effect";
import type { Random } from "../domain/Random.ts";
import type { BaseInfo, Environment, Split, Transition } from "./Environment.ts";

export interface BoundEnvironment {
  readonly type: string;
  readonly reset: (instance: Random, split: Split) => unknown;
  readonly step: (state: unknown, action: string, noise: Random) => Transition<unknown, BaseInfo>;
  readonly render: (state: unknown) => string;
  readonly compact: (state: unknown) => string;
  readonly actions: (state: unknown) => readonly string[] | null;
  readonly legend: string;
  /** Null where the environment has no solver. */
  readonly solve: ((state: unknown) => readonly string[] | null) | null;
  /** What a cloned reply thinks before `plan`; empty where the environment has no words for it. */
  readonly thought: (state: unknown, plan: readonly string[]) => string;
  readonly contentKey: (state: unknown) => string;
}

/** An environment whose configuration is still to come. */
export interface Registered {
  readonly type: string;
  /** For listing keys and explaining a decoding error. */
  readonly config: Schema.Codec<unknown, unknown>;
  /** Decodes `env_config`; keys the environment does not know are errors. */
  readonly decode: (envConfig: unknown) => Result.Result<BoundEnvironment, Schema.SchemaError>;
}

export const bind = <Config, State, Info extends BaseInfo>(
  environment: Environment<Config, State, Info>,
  config: Config,
): BoundEnvironment => {
  // The one place where a hidden state gets its type back.
  const own = (state: unknown): State => state as State;
  const { solve } = environment;
  return {
    type: environment.type,
    reset: (instance, split) => environment.reset(config, instance, split),
    step: (state, action, noise) => environment.step(config, own(state), action, noise),
    render: (state) => environment.render(config, own(state)),
    compact: (state) => environment.compact(config, own(state)),
    actions: (state) => environment.actions(config, own(state)),
    legend: environment.legend(config),
    solve: solve === undefined ? null : (state) => solve(config, own(state)),
    thought: (state, plan) => environment.thought?.(config, own(state), plan) ?? "",
    contentKey: (state) => environment.contentKey(config, own(state)),
  };
};
