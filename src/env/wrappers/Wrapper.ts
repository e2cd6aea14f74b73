/**
 * A wrapper changes parts of an environment by pure functions, the same for both kinds of environment. `wrap` turns a bound environment into
 * another bound environment, so that wrappers compose. Invariants: a wrapper may end an episode early and never prolongs one; after the
 * end nothing changes and nothing is earned; a wrapper without functions changes nothing.
 */
import type {
  AnyEnvironment,
  BaseEnvironment,
  BoundAsyncEnvironment,
  BoundEnvironment,
} from "../contract/BoundEnvironment.ts";
import type { BaseInfo, Transition } from "../contract/Environment.ts";
import { IllegalAction } from "../contract/IllegalAction.ts";
import { readAction } from "../contract/tools/ToolAction.ts";

/** The reward and the success of a step, which are the part of a transition that a wrapper sees. */
export interface StepReward {
  readonly reward: number;
  readonly success: boolean;
}

/** A change of some parts of an environment; parts that a wrapper leaves out stay unchanged. */
export interface Wrapper<Memory> {
  /** The wrapper's memory at the start of an episode; plain data. */
  readonly initialMemory: Memory;
  /** Tells by its name whether an action, or a tool, may be used. */
  readonly isAllowed?: (action: string) => boolean;
  readonly render?: (text: string) => string;
  readonly compact?: (text: string) => string;
  readonly legend?: (text: string) => string;
  /** Returns the memory after a step and the reward; `cut` truncates the episode here unless it has ended. */
  readonly afterStep?: (
    memory: Memory,
    step: StepReward,
  ) => { readonly memory: Memory; readonly reward: number; readonly cut: boolean };
  /** The wrapper's rewards need not be whole numbers where the environment's are. */
  readonly fractional?: true;
  /** Returns true if a plan of this many actions can still be played to its end. */
  readonly canPlay?: (memory: Memory, actions: number) => boolean;
}

/** A state with the wrapper's memory and the episode's phase: it goes on, has ended by itself, or was cut by this wrapper. */
interface WrappedState<Memory> {
  readonly inner: unknown;
  readonly memory: Memory;
  readonly episode: "on" | "ended" | "cut";
}

const rewritten = (text: string, rewrite: ((text: string) => string) | undefined): string =>
  rewrite === undefined ? text : rewrite(text);

/** The tools that are still offered, as a member of the environment; none of an environment of text actions. */
const offeredTools = (
  { tools }: Pick<BaseEnvironment, "tools">,
  isAllowed: (name: string) => boolean = () => true,
): Pick<BaseEnvironment, "tools"> =>
  tools === undefined ? {} : { tools: tools.filter(({ name }) => isAllowed(name)) };

/** The name by which a filter allows an action in free text; undefined for an answer, which every filter allows. */
const filteredName = ({ tools }: Pick<BaseEnvironment, "tools">, action: string): string | undefined => {
  if (tools === undefined) return action;
  const read = readAction(action, tools);
  return read._tag === "Answer" ? undefined : read.name;
};

/** The parts of a wrapped environment that are the same for both kinds. */
const sharedParts = <Memory>(environment: BaseEnvironment, wrapper: Wrapper<Memory>) => {
  const { afterStep, compact, isAllowed, legend, render } = wrapper;
  const asWrapped = (state: unknown): WrappedState<Memory> => state as WrappedState<Memory>;
  const names = (state: unknown): readonly string[] | null => {
    const allNames = environment.actions(asWrapped(state).inner);
    return allNames === null || isAllowed === undefined ? allNames : allNames.filter(isAllowed);
  };
  const base: BaseEnvironment = {
    ...environment,
    render: (state) => rewritten(environment.render(asWrapped(state).inner), render),
    compact: (state) => rewritten(environment.compact(asWrapped(state).inner), compact),
    wholeRewards: environment.wholeRewards && wrapper.fractional !== true,
    legend: rewritten(environment.legend, legend),
    actions: names,
    contentKey: (state) => environment.contentKey(asWrapped(state).inner),
    ...offeredTools(environment, isAllowed),
  };
  const wrapStart = (inner: unknown): WrappedState<Memory> => ({ inner, memory: wrapper.initialMemory, episode: "on" });

  /** The transition of an action that needs no step of the environment, else null. It throws `IllegalAction` as the environment would. */
  const transitionWithoutStep = (state: unknown, action: string): Transition<unknown, BaseInfo> | null => {
    const cut = asWrapped(state).episode === "cut";
    if (!cut && isAllowed === undefined) return null;
    const valid = names(state);
    if (valid !== null && !valid.includes(action)) {
      throw new IllegalAction({ env_type: environment.type, action, valid });
    }
    const name = valid === null ? filteredName(environment, action) : undefined;
    const refused = name !== undefined && isAllowed?.(name) === false;
    if (!cut && !refused) return null;
    // An episode that has ended by itself is left to the environment, in which nothing changes after the end.
    if (!cut && asWrapped(state).episode === "ended") return null;
    const info = { success: false, action_is_effective: false, action_is_valid: !refused };
    const unchanged = { state, reward: 0, terminated: false, truncated: cut, info };
    return environment.tools === undefined ? unchanged : { ...unchanged, result: `there is no tool ${name ?? ""}` };
  };

  /** The environment's own transition, as the wrapper changes it. */
  const wrapTransition = (
    before: unknown,
    { info, result, reward, state: inner, terminated, truncated }: Transition<unknown, BaseInfo>,
  ): Transition<unknown, BaseInfo> => {
    const { episode, memory } = asWrapped(before);
    const answered = result === undefined ? {} : { result: rewritten(result, render) };
    if (episode === "ended") return { state: before, reward, terminated, truncated, info, ...answered };
    const { success } = info;
    const shaped = afterStep === undefined ? { memory, reward, cut: false } : afterStep(memory, { reward, success });
    const over = terminated || truncated;
    const cut = shaped.cut && !over;
    const state: WrappedState<Memory> = {
      inner,
      memory: shaped.memory,
      episode: over ? "ended" : cut ? "cut" : "on",
    };
    return { state, reward: shaped.reward, terminated, truncated: truncated || cut, info, ...answered };
  };

  return { asWrapped, base, wrapStart, transitionWithoutStep, wrapTransition };
};

const wrapPure = <Memory>(environment: BoundEnvironment, wrapper: Wrapper<Memory>): BoundEnvironment => {
  const { asWrapped, base, transitionWithoutStep, wrapStart, wrapTransition } = sharedParts(environment, wrapper);
  const { canPlay, isAllowed } = wrapper;
  const { advise, solve } = environment;
  return {
    ...base,
    asynchronous: false,
    reset: (instance, split) => wrapStart(environment.reset(instance, split)),
    step: (state, action, noise) =>
      transitionWithoutStep(state, action) ??
      wrapTransition(state, environment.step(asWrapped(state).inner, action, noise)),
    // A plan that the wrapper refuses counts as none; no other plan is searched for.
    solve:
      solve === null
        ? null
        : (state) => {
            const { episode, inner, memory } = asWrapped(state);
            const plan = episode === "cut" ? null : solve(inner);
            if (plan === null || canPlay?.(memory, plan.length) === false) return null;
            return isAllowed === undefined || plan.every(isAllowed) ? plan : null;
          },
    advise:
      advise === null
        ? null
        : (state) => {
            const { episode, inner, memory } = asWrapped(state);
            const action = episode === "cut" || canPlay?.(memory, 1) === false ? null : advise(inner);
            return action === null || isAllowed?.(action) === false ? null : action;
          },
    thought: (state, plan) => environment.thought(asWrapped(state).inner, plan),
  };
};

const wrapAsync = <Memory>(environment: BoundAsyncEnvironment, wrapper: Wrapper<Memory>): BoundAsyncEnvironment => {
  const { asWrapped, base, transitionWithoutStep, wrapStart, wrapTransition } = sharedParts(environment, wrapper);
  const { describe, release } = environment;
  return {
    ...base,
    asynchronous: true,
    reset: async (instance, split, signal) => wrapStart(await environment.reset(instance, split, signal)),
    step: async (state, action, noise, signal) =>
      transitionWithoutStep(state, action) ??
      wrapTransition(state, await environment.step(asWrapped(state).inner, action, noise, signal)),
    release: release === null ? null : (state) => release(asWrapped(state).inner),
    describe: describe === null ? null : async () => wrapAsync(await describe(), wrapper),
    capacity: environment.capacity,
    timeoutMs: environment.timeoutMs,
  };
};

export const wrap = <Memory>(environment: AnyEnvironment, wrapper: Wrapper<Memory>): AnyEnvironment =>
  environment.asynchronous ? wrapAsync(environment, wrapper) : wrapPure(environment, wrapper);
