/**
 * Wraps a user's environment in checks. Invariant: every returned value is what the contract says, so that no NaN, missing field or huge value
 * gets into a batch. An error names the function, and the module's line if that is known. `prepare`, `lacks` and `report` are not wrapped,
 * because they reject with sentences for the user.
 */

import { describeModuleError } from "../../support/modules/moduleError.ts";
import type { AsyncEnvironment } from "../contract/AsyncEnvironment.ts";
import type { Environment } from "../contract/Environment.ts";
import { IllegalAction } from "../contract/IllegalAction.ts";
import { NoInstance } from "../contract/NoInstance.ts";
import { toolsProblem } from "../contract/tools/checkCall.ts";
import { bindMembers, transitionErrors } from "./members.ts";
import { sampledStateError, textError } from "./stateLimits.ts";

type PureEnvironment = Environment<unknown, unknown>;
type AsyncUserEnvironment = AsyncEnvironment<unknown, unknown>;
type StateTexts = Pick<PureEnvironment, "render" | "compact" | "actions" | "legend" | "contentKey" | "tools">;

/** Returns what is wrong with a returned value, as words that follow the function's name; undefined where nothing is. */
type ValueCheck = (value: unknown) => string | undefined;

const returnedPromise =
  "returned a promise; an asynchronous environment has asynchronous: true, capacity and timeoutMs";

const stateCheck = (): ValueCheck => {
  const sampledError = sampledStateError();
  return (value) => {
    if (value instanceof Promise) return returnedPromise;
    return value === undefined ? "returned no state" : sampledError(value);
  };
};
const transitionCheck = (): ValueCheck => {
  const sampledError = sampledStateError();
  return (value) => {
    if (value instanceof Promise) return returnedPromise;
    const errors = transitionErrors(value);
    if (errors.length > 0) return `returned no transition: ${errors.join("; ")}`;
    const { result = "", state } = value as { readonly state: unknown; readonly result?: string };
    return textError(result) ?? sampledError(state);
  };
};
const isText = (value: unknown): boolean => typeof value === "string";
const isNames = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const text: ValueCheck = (value) => (typeof value === "string" ? textError(value) : "returned no text");
const names: ValueCheck = (value) =>
  value === null || isNames(value) ? undefined : "returned neither null nor a list of names";
const toolList: ValueCheck = (value) => {
  const problem = Array.isArray(value) ? toolsProblem(value) : "it is no list";
  return problem === null ? undefined : `returned no tools: ${problem}`;
};
const name: ValueCheck = (value) => (value === null || isText(value) ? undefined : "returned neither null nor a name");

const makeGuard = (path: string) => {
  // The engine handles these two errors itself.
  const fault = (what: string, cause: unknown): unknown =>
    cause instanceof IllegalAction || cause instanceof NoInstance
      ? cause
      : new Error(`${what} of ${path} failed: ${describeModuleError(path, cause)}`, { cause });
  const checkedValue = <A>(what: string, value: A, check: ValueCheck): A => {
    const wrong = check(value);
    if (wrong !== undefined) throw new Error(`${what} of ${path} ${wrong}`);
    return value;
  };
  return {
    call: <A>(what: string, check: ValueCheck, run: () => A): A => {
      let value: A;
      try {
        value = run();
      } catch (cause) {
        throw fault(what, cause);
      }
      return checkedValue(what, value, check);
    },
    wait: async <A>(what: string, check: ValueCheck, run: () => Promise<A>): Promise<A> => {
      let value: A;
      try {
        value = await run();
      } catch (cause) {
        throw fault(what, cause);
      }
      return checkedValue(what, value, check);
    },
  };
};
type Guard = ReturnType<typeof makeGuard>;

/** The checked members that both kinds of environment share. */
const withTextChecks = ({ call }: Guard, environment: StateTexts): StateTexts => ({
  render: (config, state) => call("render", text, () => environment.render(config, state)),
  compact: (config, state) => call("compact", text, () => environment.compact(config, state)),
  actions: (config, state) => call("actions", names, () => environment.actions(config, state)),
  legend: (config) => call("legend", text, () => environment.legend(config)),
  contentKey: (config, state) => call("contentKey", text, () => environment.contentKey(config, state)),
  ...(environment.tools && { tools: (config) => call("tools", toolList, () => environment.tools?.(config) ?? []) }),
});

export const withChecks = (path: string, environment: PureEnvironment): PureEnvironment => {
  const members = bindMembers(environment);
  const { advise, solve, thought } = members;
  const guard = makeGuard(path);
  const { call } = guard;
  const checkState = stateCheck();
  const checkTransition = transitionCheck();
  return {
    ...members,
    ...withTextChecks(guard, members),
    reset: (config, instance, split) => call("reset", checkState, () => members.reset(config, instance, split)),
    step: (config, state, action, noise) =>
      call("step", checkTransition, () => members.step(config, state, action, noise)),
    ...(solve && { solve: (config, state) => call("solve", names, () => solve(config, state)) }),
    ...(advise && { advise: (config, state) => call("advise", name, () => advise(config, state)) }),
    ...(thought && { thought: (config, state, plan) => call("thought", text, () => thought(config, state, plan)) }),
  };
};

/** Wraps an asynchronous environment, as `withChecks` does a pure one. */
export const withAsyncChecks = (path: string, environment: AsyncUserEnvironment): AsyncUserEnvironment => {
  const members = bindMembers(environment);
  const guard = makeGuard(path);
  const { wait } = guard;
  const checkState = stateCheck();
  const checkTransition = transitionCheck();
  return {
    ...members,
    ...withTextChecks(guard, members),
    reset: (config, instance, split, signal) =>
      wait("reset", checkState, () => members.reset(config, instance, split, signal)),
    step: (config, state, action, noise, signal) =>
      wait("step", checkTransition, () => members.step(config, state, action, noise, signal)),
  };
};
