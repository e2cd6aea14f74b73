/**
 * Loads a user's module whose default export is an environment, or fails with one sentence that says why it cannot be used. Invariant: a
 * loaded environment has every member of its contract, and they return what the contract says. `src/env/validate` checks the rest.
 */
import * as Result from "effect/Result";
import { defaultExport, type Exports, loadExports } from "../../support/modules/loadExports.ts";
import type { AsyncEnvironment } from "../contract/AsyncEnvironment.ts";
import type { Environment } from "../contract/Environment.ts";
import { type Members, memberErrors } from "./members.ts";
import { withAsyncChecks, withChecks } from "./withChecks.ts";

export type UserEnvironment = Environment<unknown, unknown> | AsyncEnvironment<unknown, unknown>;

export const isAsync = (environment: UserEnvironment): environment is AsyncEnvironment<unknown, unknown> =>
  "asynchronous" in environment && environment.asynchronous === true;

const isMembers = (value: unknown): value is Members => typeof value === "object" && value !== null;

/** The environment among a module's exports, or the reason why there is none. */
export const environmentOf = (exported: Exports): Result.Result<UserEnvironment, string> => {
  const found = defaultExport(exported, "environment");
  if (Result.isFailure(found)) return Result.fail(found.failure);
  const candidate = found.success;
  if (!isMembers(candidate)) return Result.fail("the default export is no environment: it is not an object");
  const errors = memberErrors(candidate);
  if (errors.length > 0) return Result.fail(`the default export is no environment: ${errors.join("; ")}`);
  // Every member has been checked, so that this is the only place where an export gets its type.
  return Result.succeed(candidate as UserEnvironment);
};

/** Loads a module in this thread, once. */
export const load = async (path: string, timeoutMs?: number): Promise<Result.Result<UserEnvironment, string>> => {
  const exported = await loadExports(path, timeoutMs);
  return Result.map(Result.flatMap(exported, environmentOf), (environment) =>
    isAsync(environment) ? withAsyncChecks(path, environment) : withChecks(path, environment),
  );
};
