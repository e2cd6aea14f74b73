/**
 * A wrapper changes parts of an environment by pure functions, the same for both kinds of environment. `wrap` turns a bound environment into
 * another bound environment, so that wrappers compose. Invariants: a wrapper may end an episode early and never prolongs one; after the
 * end nothing changes and nothing is earned; a wrapper without functions changes nothing.
 */
import type { AnyEnvironment, BoundAsyncEnvironment, BoundEnvironment, Shown } from "../contract/BoundEnvironment.ts";
import type { BaseInfo, Transition } from "../contract/Environment.ts";
import { IllegalAction } from "../contract/IllegalAction.ts";

/** The result of a transition. */
export interface Step {
  readonly reward: number;
  readonly success: boolean;
}

/** Parts that a wrapper leaves out stay unchanged. */
export interface Wrapper<Memory> {
  /** Its memory at the start of an episode; plain data. */
  readonly start: Memory;
  /** Whether an action may be taken. */
  readonly admits?: (action: string) => boolean;
  readonly render?: (text: string) => string;
  readonly compact?: (text: string) => string;
  readonly legend?: (text: string) => string;
  /** The memory after a step, the reward, and whether to truncate the episode here unless it has ended. */
  readonly after?: (
    memory: Memory,
    step: Step,
  ) => { readonly memory: Memory; readonly reward: number; readonly cut: boolean };
  /** Its rewards need not be whole numbers where the environment's are. */
  readonly fractional?: true;
  /** Whether a plan of this many actions can still be played to its end. */
  readonly leaves?: (memory: Memory, actions: number) => boolean;
}

/** A state with the wrapper's memory and the episode's phase: it goes on, has ended by itself, or was cut by this wrapper. */
interface Wrapped<Memory> {
  readonly inner: unknown;
  readonly memory: Memory;
  readonly episode: "on" | "ended" | "cut";
}

const rewritten = (text: string, rewrite: ((text: string) => string) | undefined): string =>
  rewrite === undefined ? text : rewrite(text);

/** The parts that are the same for both kinds. */
const around = <Memory>(environment: Shown, wrapper: Wrapper<Memory>) => {
  const { admits, after, compact, legend, render } = wrapper;
  const of = (state: unknown): Wrapped<Memory> => state as Wrapped<Memory>;
  const names = (state: unknown): readonly string[] | null => {
    const all = environment.actions(of(state).inner);
    return all === null || admits === undefined ? all : all.filter(admits);
  };
  const shown: Shown = {
    ...environment,
    render: (state) => rewritten(environment.render(of(state).inner), render),
    compact: (state) => rewritten(environment.compact(of(state).inner), compact),
    wholeRewards: environment.wholeRewards && wrapper.fractional !== true,
    legend: rewritten(environment.legend, legend),
    actions: names,
    contentKey: (state) => environment.contentKey(of(state).inner),
  };
  const start = (inner: unknown): Wrapped<Memory> => ({ inner, memory: wrapper.start, episode: "on" });

  /** The result of an action that needs no step of the environment, else null. Throws IllegalAction as the environment would. */
  const settled = (state: unknown, action: string): Transition<unknown, BaseInfo> | null => {
    const cut = of(state).episode === "cut";
    if (!cut && admits === undefined) return null;
    const valid = names(state);
    if (valid !== null && !valid.includes(action)) {
      throw new IllegalAction({ env_type: environment.type, action, valid });
    }
    const refused = valid === null && admits?.(action) === false;
    if (!cut && !refused) return null;
    // Where the episode has ended by itself, the environment answers: after the end nothing changes there.
    if (!cut && of(state).episode === "ended") return null;
    const info = { success: false, action_is_effective: false, action_is_valid: !refused };
    return { state, reward: 0, terminated: false, truncated: cut, info };
  };

  /** The result of the environment's own transition. */
  const outcome = (
    before: unknown,
    { info, reward, state: inner, terminated, truncated }: Transition<unknown, BaseInfo>,
  ): Transition<unknown, BaseInfo> => {
    const { episode, memory } = of(before);
    if (episode === "ended") return { state: before, reward, terminated, truncated, info };
    const { success } = info;
    const judged = after === undefined ? { memory, reward, cut: false } : after(memory, { reward, success });
    const over = terminated || truncated;
    const cut = judged.cut && !over;
    const state: Wrapped<Memory> = {
      inner,
      memory: judged.memory,
      episode: over ? "ended" : cut ? "cut" : "on",
    };
    return { state, reward: judged.reward, terminated, truncated: truncated || cut, info };
  };

  return { of, shown, start, settled, outcome };
};

const wrapPure = <Memory>(environment: BoundEnvironment, wrapper: Wrapper<Memory>): BoundEnvironment => {
  const { of, outcome, settled, shown, start } = around(environment, wrapper);
  const { admits, leaves } = wrapper;
  const { advise, solve } = environment;
  return {
    ...shown,
    asynchronous: false,
    reset: (instance, split) => start(environment.reset(instance, split)),
    step: (state, action, noise) =>
      settled(state, action) ?? outcome(state, environment.step(of(state).inner, action, noise)),
    // A plan that the wrapper refuses counts as none; no other plan is searched for.
    solve:
      solve === null
        ? null
        : (state) => {
            const { episode, inner, memory } = of(state);
            const plan = episode === "cut" ? null : solve(inner);
            if (plan === null || leaves?.(memory, plan.length) === false) return null;
            return admits === undefined || plan.every(admits) ? plan : null;
          },
    advise:
      advise === null
        ? null
        : (state) => {
            const { episode, inner, memory } = of(state);
            const action = episode === "cut" || leaves?.(memory, 1) === false ? null : advise(inner);
            return action === null || admits?.(action) === false ? null : action;
          },
    thought: (state, plan) => environment.thought(of(state).inner, plan),
  };
};

const wrapWaiting = <Memory>(environment: BoundAsyncEnvironment, wrapper: Wrapper<Memory>): BoundAsyncEnvironment => {
  const { of, outcome, settled, shown, start } = around(environment, wrapper);
  const { introduced, release } = environment;
  return {
    ...shown,
    asynchronous: true,
    reset: async (instance, split, signal) => start(await environment.reset(instance, split, signal)),
    step: async (state, action, noise, signal) =>
      settled(state, action) ?? outcome(state, await environment.step(of(state).inner, action, noise, signal)),
    release: release === null ? null : (state) => release(of(state).inner),
    introduced: introduced === null ? null : async () => wrapWaiting(await introduced(), wrapper),
    capacity: environment.capacity,
    timeoutMs: environment.timeoutMs,
  };
};

export const wrap = <Memory>(environment: AnyEnvironment, wrapper: Wrapper<Memory>): AnyEnvironment =>
  environment.asynchronous ? wrapWaiting(environment, wrapper) : wrapPure(environment, wrapper);
