/**
 * An environment with its decoded configuration, for whoever holds episodes of several kinds at once. The types of configuration
 * and state are hidden: a state that came out of a bound environment goes back into the same one, as `unknown`, by value. Both kinds
 * show a state alike; they differ in whether a transition waits.
 */
import type { Result, Schema } from "effect";
import type { Random } from "../domain/Random.ts";
import type { AsyncEnvironment } from "./AsyncEnvironment.ts";
import type { BaseInfo, Environment, Split, Transition } from "./Environment.ts";

/** What both kinds have: how a state is shown, and what is needed before the first one. */
export interface Shown {
  readonly type: string;
  readonly render: (state: unknown) => string;
  readonly compact: (state: unknown) => string;
  readonly actions: (state: unknown) => readonly string[] | null;
  readonly legend: string;
  /** The answer of a reply is one action, whatever stands in it. */
  readonly wholeAnswer: boolean;
  readonly contentKey: (state: unknown) => string;
  /** What is missing here, a sentence each; null where nothing can be. */
  readonly lacks: (() => Promise<readonly string[]>) | null;
  /** What to tell the user of the data, a sentence each; null where there is nothing to tell. Asked once, by the main thread. */
  readonly report: (() => Promise<readonly string[]>) | null;
  /** Awaited once in each thread before its first reset or step; null where there is nothing to load. */
  readonly prepare: (() => Promise<void>) | null;
}

/** A pure environment: any thread can play it. */
export interface BoundEnvironment extends Shown {
  readonly asynchronous: false;
  readonly reset: (instance: Random, split: Split) => unknown;
  readonly step: (state: unknown, action: string, noise: Random) => Transition<unknown, BaseInfo>;
  /** Null where the environment has no solver. */
  readonly solve: ((state: unknown) => readonly string[] | null) | null;
  /** One sensible action; null where the environment has no adviser. */
  readonly advise: ((state: unknown) => string | null) | null;
  /** What a cloned reply thinks before `plan`; empty where the environment has no words for it. */
  readonly thought: (state: unknown, plan: readonly string[]) => string;
}

/** An environment that waits for another side: the main thread plays it. */
export interface BoundAsyncEnvironment extends Shown {
  readonly asynchronous: true;
  readonly reset: (instance: Random, split: Split, signal: AbortSignal) => Promise<unknown>;
  readonly step: (
    state: unknown,
    action: string,
    noise: Random,
    signal: AbortSignal,
  ) => Promise<Transition<unknown, BaseInfo>>;
  /** Null where states hold nothing elsewhere. */
  readonly release: ((state: unknown) => Promise<void>) | null;
  /** The environment as the other side describes it; null where that is not asked. */
  readonly introduced: (() => Promise<BoundAsyncEnvironment>) | null;
  /** Requests in flight at most. */
  readonly capacity: number;
  /** Limit of one reset or step. */
  readonly timeoutMs: number;
}

export type AnyEnvironment = BoundEnvironment | BoundAsyncEnvironment;

/** Those any thread can play. */
export const pure = (environments: ReadonlyMap<string, AnyEnvironment>): ReadonlyMap<string, BoundEnvironment> =>
  new Map([...environments].flatMap(([tag, environment]) => (environment.asynchronous ? [] : [[tag, environment]])));

/** Those that wait for another side. */
export const waiting = (
  environments: ReadonlyMap<string, AnyEnvironment>,
): ReadonlyMap<string, BoundAsyncEnvironment> =>
  new Map([...environments].flatMap(([tag, environment]) => (environment.asynchronous ? [[tag, environment]] : [])));

/** An environment whose configuration is still to come. */
export interface Registered {
  readonly type: string;
  /** For listing keys and explaining a decoding error. */
  readonly config: Schema.Codec<unknown, unknown>;
  /** Decodes `env_config`; keys the environment does not know are errors. */
  readonly decode: (envConfig: unknown) => Result.Result<AnyEnvironment, Schema.SchemaError>;
}

/** Why a configuration cannot be used; `path` leads to it. */
export interface InvalidConfig {
  readonly _tag: "InvalidConfig";
  readonly path: readonly string[];
  readonly value: unknown;
  /** Issue paths are relative to `path`. */
  readonly cause: Schema.SchemaError;
  readonly schema: Schema.Codec<unknown, unknown>;
}

/** The one place where a hidden state gets its type back. */
const own = <State>(state: unknown): State => state as State;

const shown = <Config, State, Info extends BaseInfo>(
  environment: Omit<Environment<Config, State, Info>, "reset" | "step">,
  config: Config,
): Shown => {
  const { lacks, prepare, report } = environment;
  return {
    type: environment.type,
    render: (state) => environment.render(config, own(state)),
    compact: (state) => environment.compact(config, own(state)),
    actions: (state) => environment.actions(config, own(state)),
    legend: environment.legend(config),
    wholeAnswer: environment.wholeAnswer ?? false,
    contentKey: (state) => environment.contentKey(config, own(state)),
    lacks: lacks === undefined ? null : () => lacks(config),
    report: report === undefined ? null : () => report(config),
    prepare: prepare === undefined ? null : () => prepare(config),
  };
};

export const bind = <Config, State, Info extends BaseInfo>(
  environment: Environment<Config, State, Info>,
  config: Config,
): BoundEnvironment => {
  const { advise, solve } = environment;
  return {
    ...shown(environment, config),
    asynchronous: false,
    reset: (instance, split) => environment.reset(config, instance, split),
    step: (state, action, noise) => environment.step(config, own(state), action, noise),
    solve: solve === undefined ? null : (state) => solve(config, own(state)),
    advise: advise === undefined ? null : (state) => advise(config, own(state)),
    thought: (state, plan) => environment.thought?.(config, own(state), plan) ?? "",
  };
};

export const bindAsync = <Config, State, Info extends BaseInfo>(
  environment: AsyncEnvironment<Config, State, Info>,
  config: Config,
): BoundAsyncEnvironment => {
  const { describe, release } = environment;
  const bound: BoundAsyncEnvironment = {
    ...shown(environment, config),
    asynchronous: true,
    reset: (instance, split, signal) => environment.reset(config, instance, split, signal),
    step: (state, action, noise, signal) => environment.step(config, own(state), action, noise, signal),
    release: release === undefined ? null : (state) => release(config, own(state)),
    introduced:
      describe === undefined ? null : async () => ({ ...bound, ...(await describe(config)), introduced: null }),
    capacity: environment.capacity(config),
    timeoutMs: environment.timeoutMs(config),
  };
  return bound;
};
