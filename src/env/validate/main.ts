/**
 * The entry `millrace/env/contract` for authors of environments: the promises of the contract as tests that any framework can run.
 * `millrace env validate` runs the same checks.
 */
import { Schema } from "effect";
import type { AsyncEnvironment } from "../contract/AsyncEnvironment.ts";
import { type AnyEnvironment, bind, bindAsync } from "../contract/BoundEnvironment.ts";
import type { BaseInfo, Environment } from "../contract/Environment.ts";
import { type Check, runCheck, type Subject } from "./Check.ts";
import { contractChecks } from "./contractChecks.ts";
import type { Act } from "./players.ts";
import { trainingChecks } from "./trainingChecks.ts";

/** All checks, in the order in which reports list them. */
export const checks: readonly Check[] = [...contractChecks, ...trainingChecks];

/** A promise of the contract as a test. */
export interface ContractTest {
  readonly name: string;
  /** It rejects with a sentence where the environment does not keep what `name` says. */
  readonly run: () => Promise<void>;
}

/** Options of `contract`. */
export interface ContractOptions {
  /** The most actions of one episode; 100 by default. */
  readonly actions?: number;
  /** Keys of `env_config` that remove transition noise, so that a plan must succeed as it stands. */
  readonly certain?: Readonly<Record<string, unknown>>;
  /** A sampler of actions for free text; by default it draws words of the observation, numbers and nonsense. */
  readonly act?: Act;
}

/** An environment of either kind. */
type EitherEnvironment<Config, State, Info extends BaseInfo> =
  | Environment<Config, State, Info>
  | AsyncEnvironment<Config, State, Info>;

const bindTo = <Config, State, Info extends BaseInfo>(
  environment: EitherEnvironment<Config, State, Info>,
  keys: unknown,
): AnyEnvironment => {
  const config = Schema.decodeUnknownSync(environment.config, { onExcessProperty: "error" })(keys);
  return "asynchronous" in environment ? bindAsync(environment, config) : bind(environment, config);
};

/** The tests of an environment under a configuration: `for (const { name, run } of contract(Mine, {})) test(name, run)`. */
export const contract = <Config, State, Info extends BaseInfo>(
  environment: EitherEnvironment<Config, State, Info>,
  env_config: Readonly<Record<string, unknown>> = {},
  { act, actions = 100, certain }: ContractOptions = {},
): readonly ContractTest[] => {
  const subject: Subject = {
    environment: bindTo(environment, env_config),
    certain: certain === undefined ? undefined : bindTo(environment, { ...env_config, ...certain }),
    actions,
    act,
  };
  const prepareAll = async () => {
    await subject.environment.prepare?.();
    await subject.certain?.prepare?.();
  };
  return checks.map((check) => ({
    name: check.name,
    run: async () => {
      await prepareAll();
      const finding = await runCheck(check, subject);
      if (finding.status === "fail") throw new Error(`${check.name}: ${finding.reason}`);
    },
  }));
};

export type { Act } from "./players.ts";
