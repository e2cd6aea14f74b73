/**
 * An environment with its decoded configuration, so that callers can hold environments of different types. The types of configuration and
 * state are hidden: a state is `unknown`, and goes only into the bound environment it came from. There are two kinds, which differ in
 * whether a transition is asynchronous.
 */
import type { Result, Schema } from "effect";
import type { Random } from "../../domain/Random.ts";
import type { AsyncEnvironment, Introduction } from "./AsyncEnvironment.ts";
import type { BaseInfo, Environment, Split, Transition } from "./Environment.ts";

/** The members that both kinds have: the texts of a state, and the steps before the first reset. */
export interface BaseEnvironment extends Introduction {
  readonly render: (state: unknown) => string;
  readonly compact: (state: unknown) => string;
  readonly actions: (state: unknown) => readonly string[] | null;
  readonly contentKey: (state: unknown) => string;
  /** Resolves to one sentence for each thing that is missing on this machine; null where nothing can be missing. */
  readonly lacks: (() => Promise<readonly string[]>) | null;
  /** Resolves to sentences that the user should know about the data; null where there are none. The main thread calls it once. */
  readonly report: (() => Promise<readonly string[]>) | null;
  /** Each thread awaits it once before its first reset or step; null where there is nothing to load. */
  readonly prepare: (() => Promise<void>) | null;
}

/** A pure environment: any thread can play it. */
export interface BoundEnvironment extends BaseEnvironment {
  readonly asynchronous: false;
  readonly reset: (instance: Random, split: Split) => unknown;
  readonly step: (state: unknown, action: string, noise: Random) => Transition<unknown, BaseInfo>;
  /** A shortest action sequence to success; null if the environment has no solver. */
  readonly solve: ((state: unknown) => readonly string[] | null) | null;
  /** One sensible action; null if the environment has no adviser. */
  readonly advise: ((state: unknown) => string | null) | null;
  /** The thought of a cloned reply before `plan`; empty where the environment has none. */
  readonly thought: (state: unknown, plan: readonly string[]) => string;
}

/** An environment backed by an external server or process. Only the main thread plays it. */
export interface BoundAsyncEnvironment extends BaseEnvironment {
  readonly asynchronous: true;
  readonly reset: (instance: Random, split: Split, signal: AbortSignal) => Promise<unknown>;
  readonly step: (
    state: unknown,
    action: string,
    noise: Random,
    signal: AbortSignal,
  ) => Promise<Transition<unknown, BaseInfo>>;
  /** Frees what a state holds elsewhere; null if states hold nothing elsewhere. */
  readonly release: ((state: unknown) => Promise<void>) | null;
  /** The environment as its server describes it; null where the server is not asked. */
  readonly describe: (() => Promise<BoundAsyncEnvironment>) | null;
  /** The most requests that may be in flight at once. */
  readonly capacity: number;
  /** The time limit of one reset or step, in milliseconds. */
  readonly timeoutMs: number;
}

export type AnyEnvironment = BoundEnvironment | BoundAsyncEnvironment;

export const pureEnvironments = (
  environments: ReadonlyMap<string, AnyEnvironment>,
): ReadonlyMap<string, BoundEnvironment> =>
  new Map([...environments].flatMap(([tag, environment]) => (environment.asynchronous ? [] : [[tag, environment]])));

export const asyncEnvironments = (
  environments: ReadonlyMap<string, AnyEnvironment>,
): ReadonlyMap<string, BoundAsyncEnvironment> =>
  new Map([...environments].flatMap(([tag, environment]) => (environment.asynchronous ? [[tag, environment]] : [])));

/** An environment that is not bound to a configuration yet. */
export interface RegisteredEnvironment {
  readonly type: string;
  /** The schema by which help lists the keys and an error explains a wrong one. */
  readonly config: Schema.Codec<unknown, unknown>;
  /** Decodes `env_config`; keys the environment does not know are errors. */
  readonly decode: (envConfig: unknown) => Result.Result<AnyEnvironment, Schema.SchemaError>;
}

/** A configuration that its schema refuses; `path` leads to it. */
export interface InvalidConfig {
  readonly _tag: "InvalidConfig";
  readonly path: readonly string[];
  readonly value: unknown;
  /** Issue paths are relative to `path`. */
  readonly cause: Schema.SchemaError;
  readonly schema: Schema.Codec<unknown, unknown>;
}

/** The only place where a hidden state gets its type back. */
const asState = <State>(state: unknown): State => state as State;

const bindBase = <Config, State, Info extends BaseInfo>(
  environment: Omit<Environment<Config, State, Info>, "reset" | "step">,
  config: Config,
): BaseEnvironment => {
  const { lacks, prepare, report, tools } = environment;
  return {
    type: environment.type,
    render: (state) => environment.render(config, asState(state)),
    compact: (state) => environment.compact(config, asState(state)),
    actions: (state) => environment.actions(config, asState(state)),
    legend: environment.legend(config),
    wholeAnswer: environment.wholeAnswer ?? false,
    wholeRewards: environment.wholeRewards ?? false,
    actionsInState: environment.actionsInState ?? false,
    contentKey: (state) => environment.contentKey(config, asState(state)),
    lacks: lacks === undefined ? null : () => lacks(config),
    report: report === undefined ? null : () => report(config),
    prepare: prepare === undefined ? null : () => prepare(config),
    ...(tools === undefined ? {} : { tools: tools(config) }),
  };
};

export const bind = <Config, State, Info extends BaseInfo>(
  environment: Environment<Config, State, Info>,
  config: Config,
): BoundEnvironment => {
  const { advise, solve } = environment;
  return {
    ...bindBase(environment, config),
    asynchronous: false,
    reset: (instance, split) => environment.reset(config, instance, split),
    step: (state, action, noise) => environment.step(config, asState(state), action, noise),
    solve: solve === undefined ? null : (state) => solve(config, asState(state)),
    advise: advise === undefined ? null : (state) => advise(config, asState(state)),
    thought: (state, plan) => environment.thought?.(config, asState(state), plan) ?? "",
  };
};

export const bindAsync = <Config, State, Info extends BaseInfo>(
  environment: AsyncEnvironment<Config, State, Info>,
  config: Config,
): BoundAsyncEnvironment => {
  const { describe, release } = environment;
  const bound: BoundAsyncEnvironment = {
    ...bindBase(environment, config),
    asynchronous: true,
    reset: (instance, split, signal) => environment.reset(config, instance, split, signal),
    step: (state, action, noise, signal) => environment.step(config, asState(state), action, noise, signal),
    release: release === undefined ? null : (state) => release(config, asState(state)),
    describe: describe === undefined ? null : async () => ({ ...bound, ...(await describe(config)), describe: null }),
    capacity: environment.capacity(config),
    timeoutMs: environment.timeoutMs(config),
  };
  return bound;
};
