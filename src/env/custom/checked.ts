/**
 * Wraps a user's environment in checks. Invariants: an error names the function, and the line of the module where that is known; every
 * returned value is what the contract says, so that no NaN, no missing field and nothing huge gets into a batch. Functions whose contract is to reject
 * with a sentence for the user (`prepare`, `lacks`, `report`) are not wrapped.
 */
import type { AsyncEnvironment } from "../contract/AsyncEnvironment.ts";
import type { Environment } from "../contract/Environment.ts";
import { IllegalAction } from "../contract/IllegalAction.ts";
import { NoInstance } from "../contract/NoInstance.ts";
import { sampledStates, textError } from "./limits.ts";
import { ownMembers, transitionErrors } from "./members.ts";
import { describeError } from "./moduleError.ts";

type Pure = Environment<unknown, unknown>;
type Waiting = AsyncEnvironment<unknown, unknown>;
type Shown = Pick<Pure, "render" | "compact" | "actions" | "legend" | "contentKey">;

/** What is wrong with a returned value, after the name of the function; undefined where nothing is. */
type Check = (value: unknown) => string | undefined;

const promised = "returned a promise; an asynchronous environment has asynchronous: true, capacity and timeoutMs";

const stateCheck = (): Check => {
  const wrong = sampledStates();
  return (value) => {
    if (value instanceof Promise) return promised;
    return value === undefined ? "returned no state" : wrong(value);
  };
};
const transitionCheck = (): Check => {
  const wrong = sampledStates();
  return (value) => {
    if (value instanceof Promise) return promised;
    const found = transitionErrors(value);
    return found.length === 0
      ? wrong((value as { state: unknown }).state)
      : `returned no transition: ${found.join("; ")}`;
  };
};
const isText = (value: unknown): boolean => typeof value === "string";
const isNames = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const text: Check = (value) => (typeof value === "string" ? textError(value) : "returned no text");
const names: Check = (value) =>
  value === null || isNames(value) ? undefined : "returned neither null nor a list of names";
const name: Check = (value) => (value === null || isText(value) ? undefined : "returned neither null nor a name");

const guardOf = (path: string) => {
  // The engine handles these two.
  const fault = (what: string, cause: unknown): unknown =>
    cause instanceof IllegalAction || cause instanceof NoInstance
      ? cause
      : new Error(`${what} of ${path} failed: ${describeError(path, cause)}`, { cause });
  const held = <A>(what: string, value: A, check: Check): A => {
    const wrong = check(value);
    if (wrong !== undefined) throw new Error(`${what} of ${path} ${wrong}`);
    return value;
  };
  return {
    call: <A>(what: string, check: Check, run: () => A): A => {
      let value: A;
      try {
        value = run();
      } catch (cause) {
        throw fault(what, cause);
      }
      return held(what, value, check);
    },
    wait: async <A>(what: string, check: Check, run: () => Promise<A>): Promise<A> => {
      let value: A;
      try {
        value = await run();
      } catch (cause) {
        throw fault(what, cause);
      }
      return held(what, value, check);
    },
  };
};
type Guard = ReturnType<typeof guardOf>;

/** The members that both kinds share. */
const shown = ({ call }: Guard, made: Shown): Shown => ({
  render: (config, at) => call("render", text, () => made.render(config, at)),
  compact: (config, at) => call("compact", text, () => made.compact(config, at)),
  actions: (config, at) => call("actions", names, () => made.actions(config, at)),
  legend: (config) => call("legend", text, () => made.legend(config)),
  contentKey: (config, at) => call("contentKey", text, () => made.contentKey(config, at)),
});

export const checked = (path: string, environment: Pure): Pure => {
  const made = ownMembers(environment);
  const { advise, solve, thought } = made;
  const guard = guardOf(path);
  const { call } = guard;
  const state = stateCheck();
  const transition = transitionCheck();
  return {
    ...made,
    ...shown(guard, made),
    reset: (config, instance, split) => call("reset", state, () => made.reset(config, instance, split)),
    step: (config, at, action, noise) => call("step", transition, () => made.step(config, at, action, noise)),
    ...(solve && { solve: (config, at) => call("solve", names, () => solve(config, at)) }),
    ...(advise && { advise: (config, at) => call("advise", name, () => advise(config, at)) }),
    ...(thought && { thought: (config, at, plan) => call("thought", text, () => thought(config, at, plan)) }),
  };
};

/** The same for an asynchronous environment. */
export const checkedAsync = (path: string, environment: Waiting): Waiting => {
  const made = ownMembers(environment);
  const guard = guardOf(path);
  const { wait } = guard;
  const state = stateCheck();
  const transition = transitionCheck();
  return {
    ...made,
    ...shown(guard, made),
    reset: (config, instance, split, signal) => wait("reset", state, () => made.reset(config, instance, split, signal)),
    step: (config, at, action, noise, signal) =>
      wait("step", transition, () => made.step(config, at, action, noise, signal)),
  };
};
