/**
 * The members of an environment as tables, to check what a user's module exports. The types tie the tables to the contracts, so that a
 * member added to a contract must be added here.
 */
import { Schema } from "effect";
import { isReward } from "../../domain/Episode.ts";
import type { AsyncEnvironment } from "../contract/AsyncEnvironment.ts";
import type { BaseInfo, Environment, Transition } from "../contract/Environment.ts";

type Pure = Environment<unknown, unknown>;
type Waiting = AsyncEnvironment<unknown, unknown>;

/** A candidate: the members of an environment, unchecked. */
export type Members = { readonly [Name in keyof Pure | keyof Waiting]?: unknown };

interface Expected {
  readonly what: string;
  readonly holds: (value: unknown) => boolean;
}

type Required<Contract> = {
  [Name in keyof Contract]-?: Record<never, never> extends Pick<Contract, Name> ? never : Name;
}[keyof Contract];
type Optional<Contract> = Exclude<keyof Contract, Required<Contract>>;
type Table<Name extends PropertyKey> = Readonly<Record<Name, Expected>>;

const text: Expected = {
  what: "a text that is not empty",
  holds: (value) => typeof value === "string" && value !== "",
};
const schema: Expected = { what: "a Schema", holds: Schema.isSchema };
const method: Expected = { what: "a function", holds: (value) => typeof value === "function" };
const yes: Expected = { what: "true, or left out", holds: (value) => value === true };
const truth: Expected = { what: "true or false", holds: (value) => typeof value === "boolean" };

const required: Table<Required<Pure>> = {
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
const requiredOfWaiting: Table<Exclude<Required<Waiting>, "asynchronous">> = {
  ...required,
  capacity: method,
  timeoutMs: method,
};
const optional: Table<Optional<Pure> | Optional<Waiting> | "asynchronous"> = {
  asynchronous: yes,
  wholeAnswer: yes,
  wholeRewards: yes,
  actionsInState: yes,
  solve: method,
  advise: method,
  thought: method,
  lacks: method,
  report: method,
  prepare: method,
  describe: method,
  release: method,
};
const transition: Table<keyof Transition<unknown, unknown>> = {
  state: { what: "a state", holds: (value) => value !== undefined },
  reward: { what: "a number between -1e9 and 1e9", holds: isReward },
  terminated: truth,
  truncated: truth,
  info: { what: "an object", holds: (value) => typeof value === "object" && value !== null },
};
const info: Table<keyof BaseInfo> = { success: truth, action_is_effective: truth, action_is_valid: truth };

/** A number that is not what it should be is named; other values may be long. */
const not = (value: unknown, what: string): string =>
  typeof value === "number" ? `${value}, not ${what}` : `not ${what}`;

/** The members that are not what a table says. A member that is absent is missing unless `mayLack`. */
const wrong = <Name extends string>(
  table: Table<Name>,
  members: { readonly [Member in Name]?: unknown },
  { mayLack = false, within = "" } = {},
): readonly string[] =>
  Object.entries<Expected>(table).flatMap(([name, { holds, what }]) => {
    const value = members[name as Name];
    if (value === undefined) return mayLack ? [] : [`${within}${name} is missing (${what})`];
    return holds(value) ? [] : [`${within}${name} is ${not(value, what)}`];
  });

/** The wrong and missing members of an environment. */
export const memberErrors = (members: Members): readonly string[] => [
  ...wrong<string>(members.asynchronous === true ? requiredOfWaiting : required, members),
  ...wrong(optional, members, { mayLack: true }),
];

/** A plain object with the members of an environment, inherited ones too; functions stay bound to it. */
export const ownMembers = <Made extends Members>(made: Made): Made => {
  const members = Object.entries<Expected>({ ...requiredOfWaiting, ...optional }).flatMap(([name, expected]) => {
    const value = made[name as keyof Members];
    if (value === undefined) return [];
    return [[name, expected === method && typeof value === "function" ? value.bind(made) : value] as const];
  });
  return Object.fromEntries(members) as Made;
};

/** The wrong and missing members of a transition. Other numbers of its info become metrics, so that they must be finite too. */
export const transitionErrors = (value: unknown): readonly string[] => {
  if (typeof value !== "object" || value === null) return ["it is not an object"];
  const members: { readonly [Name in keyof typeof transition]?: unknown } = value;
  const found = wrong(transition, members);
  if (found.length > 0) return found;
  const said = members.info as object;
  return [
    ...wrong(info, said, { within: "info." }),
    ...Object.entries(said).flatMap(([name, number]) =>
      typeof number === "number" && !Number.isFinite(number)
        ? [`info.${name} is ${not(number, "a finite number")}`]
        : [],
    ),
  ];
};
