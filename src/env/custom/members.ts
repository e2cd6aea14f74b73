/**
 * The members of an environment as tables, to check what a user's module exports. The types tie the tables to the contracts, so that a
 * member added to a contract must be added here.
 */
import * as Schema from "effect/Schema";
import { isReward } from "../../domain/Episode.ts";
import type { AsyncEnvironment } from "../contract/AsyncEnvironment.ts";
import type { BaseInfo, Environment, Transition } from "../contract/Environment.ts";

type PureContract = Environment<unknown, unknown>;
type AsyncContract = AsyncEnvironment<unknown, unknown>;

/** A candidate: the members of an environment, unchecked. */
export type Members = { readonly [Name in keyof PureContract | keyof AsyncContract]?: unknown };

interface MemberRule {
  readonly description: string;
  readonly accepts: (value: unknown) => boolean;
}

type Required<Contract> = {
  [Name in keyof Contract]-?: Record<never, never> extends Pick<Contract, Name> ? never : Name;
}[keyof Contract];
type Optional<Contract> = Exclude<keyof Contract, Required<Contract>>;
type Table<Name extends PropertyKey> = Readonly<Record<Name, MemberRule>>;

const text: MemberRule = {
  description: "a text that is not empty",
  accepts: (value) => typeof value === "string" && value !== "",
};
const schema: MemberRule = { description: "a Schema", accepts: Schema.isSchema };
const method: MemberRule = { description: "a function", accepts: (value) => typeof value === "function" };
const trueOrAbsent: MemberRule = { description: "true, or left out", accepts: (value) => value === true };
const bool: MemberRule = { description: "true or false", accepts: (value) => typeof value === "boolean" };

const required: Table<Required<PureContract>> = {
  type: text,
  config: schema,
  reset: method,
  step: method,
  render: method,
  compact: method,
  actions: method,
  legend: method,
  contentKey: method,
};
const requiredAsync: Table<Exclude<Required<AsyncContract>, "asynchronous">> = {
  ...required,
  capacity: method,
  timeoutMs: method,
};
const optional: Table<Optional<PureContract> | Optional<AsyncContract> | "asynchronous"> = {
  asynchronous: trueOrAbsent,
  wholeAnswer: trueOrAbsent,
  wholeRewards: trueOrAbsent,
  actionsInState: trueOrAbsent,
  tools: method,
  solve: method,
  advise: method,
  thought: method,
  lacks: method,
  report: method,
  prepare: method,
  describe: method,
  release: method,
};
const transition: Table<Required<Transition<unknown, unknown>>> = {
  state: { description: "a state", accepts: (value) => value !== undefined },
  reward: { description: "a number between -1e9 and 1e9", accepts: isReward },
  terminated: bool,
  truncated: bool,
  info: { description: "an object", accepts: (value) => typeof value === "object" && value !== null },
};
const info: Table<keyof BaseInfo> = { success: bool, action_is_effective: bool, action_is_valid: bool };

/** Names a wrong number; other values are not shown, because they may be long. */
const rejection = (value: unknown, what: string): string =>
  typeof value === "number" ? `${value}, not ${what}` : `not ${what}`;

/** The members that a table does not accept. An absent member counts as missing unless `mayLack`. */
const errorsIn = <Name extends string>(
  table: Table<Name>,
  members: { readonly [Member in Name]?: unknown },
  { mayLack = false, within = "" } = {},
): readonly string[] =>
  Object.entries<MemberRule>(table).flatMap(([name, { accepts: holds, description: what }]) => {
    const value = members[name as Name];
    if (value === undefined) return mayLack ? [] : [`${within}${name} is missing (${what})`];
    return holds(value) ? [] : [`${within}${name} is ${rejection(value, what)}`];
  });

/** The wrong and missing members of an environment. */
export const memberErrors = (members: Members): readonly string[] => [
  ...errorsIn<string>(members.asynchronous === true ? requiredAsync : required, members),
  ...errorsIn(optional, members, { mayLack: true }),
];

/** A plain object with the members of an environment, inherited ones too; functions stay bound to it. */
export const bindMembers = <Made extends Members>(candidate: Made): Made => {
  const members = Object.entries<MemberRule>({ ...requiredAsync, ...optional }).flatMap(([name, rule]) => {
    const value = candidate[name as keyof Members];
    if (value === undefined) return [];
    return [[name, rule === method && typeof value === "function" ? value.bind(candidate) : value] as const];
  });
  return Object.fromEntries(members) as Made;
};

/** The wrong and missing members of a transition. Other numbers of its info become metrics, so that they must be finite too. */
export const transitionErrors = (value: unknown): readonly string[] => {
  if (typeof value !== "object" || value === null) return ["it is not an object"];
  const members: { readonly [Name in keyof typeof transition]?: unknown } = value;
  const errors = errorsIn(transition, members);
  if (errors.length > 0) return errors;
  const infoFields = members.info as object;
  const { result } = value as { readonly result?: unknown };
  return [
    ...(result === undefined || typeof result === "string" ? [] : ["result is not a text"]),
    ...errorsIn(info, infoFields, { within: "info." }),
    ...Object.entries(infoFields).flatMap(([name, number]) =>
      typeof number === "number" && !Number.isFinite(number)
        ? [`info.${name} is ${rejection(number, "a finite number")}`]
        : [],
    ),
  ];
};
