/**
 * The conditions of an evaluation, apart from who played: the environments, the texts around their states and the rules of a turn. Two
 * evaluations compare where these are equal. Pure. Invariant: equal conditions have equal versions, whatever the order of their keys.
 */
import { createHash } from "node:crypto";
import { playedTags, withLevels } from "../../config/levels.ts";
import type { Preset, RunConfig } from "../../config/RunConfig.ts";
import { showText, showValue } from "../../config/show.ts";
import { leaves } from "../../config/Tree.ts";
import type { Task } from "../../rollout/Task.ts";
import type { Template } from "../../rollout/Template.ts";

/** Keys of the run file that decide what is played and how it is told, by their full names. Lengths of replies are the player's own. */
export interface Conditions {
  readonly custom_envs: Readonly<Record<string, Omit<Preset, "levels">>>;
  readonly es_manager: Pick<RunConfig["es_manager"], "format_penalty">;
  readonly rollout: Omit<RunConfig["rollout"], "max_model_len" | "response_length">;
}

/** Keeps the presets that the validation plays, and no others. */
export const conditionsOf = (config: RunConfig): Conditions => {
  const { es_manager, rollout } = config;
  const all = withLevels(config.custom_envs);
  const { max_model_len, response_length, ...rules } = rollout;
  const presets = playedTags(config, "val").flatMap((tag) => {
    if (all[tag] === undefined) return [];
    const { levels: _, ...preset } = all[tag];
    return [[tag, preset] as const];
  });
  const { format_penalty } = es_manager;
  return { custom_envs: Object.fromEntries(presets), es_manager: { format_penalty }, rollout: rules };
};

/** Values by their full key. */
const flat = (conditions: Conditions): ReadonlyMap<string, string> =>
  new Map(leaves(conditions).map(({ path, value }) => [path.join("."), JSON.stringify(value)]));

/** A key that two conditions have different values of; null for none. */
export interface Difference {
  readonly key: string;
  /** JSON; null where the key is not there. */
  readonly values: readonly [string | null, string | null];
}

const tagsOf = ({ custom_envs }: Conditions): string => JSON.stringify(Object.keys(custom_envs).sort());

export const differenceOf = (one: Conditions, other: Conditions): Difference | null => {
  const [ours, theirs] = [tagsOf(one), tagsOf(other)];
  if (ours !== theirs) return { key: "es_manager.val.tags", values: [ours, theirs] };
  const [a, b] = [flat(one), flat(other)];
  const key = [...new Set([...a.keys(), ...b.keys()])].sort().find((name) => a.get(name) !== b.get(name));
  return key === undefined ? null : { key, values: [a.get(key) ?? null, b.get(key) ?? null] };
};

const said = (value: string | null): string => (value === null ? "not there" : showValue(JSON.parse(value)));

/** Why the two do not compare, in words. */
export const reasonOf = ({ key, values: [a, b] }: Difference): string =>
  `${showText(key)} is ${said(a)} and ${said(b)}`;

const longest = 12;

const hashOf = (lines: readonly string[]): string =>
  createHash("sha256").update(JSON.stringify(lines)).digest("hex").slice(0, longest);

/** Names of the environment presets and of the texts around their states. Another name is another benchmark. */
export interface Versions {
  readonly environment: string;
  readonly template: string;
}

const isPreset = (line: string): boolean => line.startsWith("custom_envs.");

/** A moment whose texts stand for any. */
const moment = (actions: readonly string[] | null) => ({
  view: { state: null, observation: "{state}", compact: "{compact}", actions, contentKey: "" },
  turn: 1,
  actionsLeft: 1,
});

/** The texts of prompts that do not show the whole episode. */
const laterTexts = (template: Template, task: Task): readonly string[] => {
  const now = { ...moment(["{action}"]), turn: 2 };
  const exampleTurn = {
    reward: 0.5,
    executed: 1,
    invalid: false,
    reply: "{reply}",
    actions: ["{action}"],
    effective: 1,
  };
  const past = [{ ...exampleTurn, before: moment(["{action}"]) }];
  const recall = { summary: "{summary}", previousInvalid: true };
  return [
    template.reopening(task, now, recall),
    template.retelling(task, now, { ...recall, first: "{state}", shown: past }),
    template.facts(past),
    template.summarising(task, past, "{summary}", 1),
  ];
};

/** True when some prompt may not show the whole episode. */
const forgets = ({ rollout: { context, overflow } }: Conditions): boolean => context !== "full" || overflow === "drop";

/** The texts that the template puts around the states of a task. */
const textsOf = (template: Template, task: Task): readonly string[] => {
  const named = moment(["{action}"]);
  const { system, user } = template.opening(task, named);
  const free = template.opening(task, moment(null));
  const after = { reward: 0.5, executed: 1, invalid: false };
  const next = template.next(task, named, after);
  const warned = template.next(task, named, { reward: 0, executed: 0, invalid: true });
  const tools = task.tools === undefined ? [] : [JSON.stringify(task.tools)];
  return [task.tag, system, user, free.system, free.user, next, warned, template.prefix, ...tools];
};

export const versionsOf = (conditions: Conditions, template: Template, tasks: Iterable<Task>): Versions => {
  const lines = [...flat(conditions)].map(([key, value]) => `${key}=${value}`).sort();
  const texts = [...tasks]
    .filter(({ tag }) => Object.hasOwn(conditions.custom_envs, tag))
    .sort((a, b) => (a.tag < b.tag ? -1 : 1))
    .flatMap((task) => [...textsOf(template, task), ...(forgets(conditions) ? laterTexts(template, task) : [])]);
  return {
    environment: hashOf(lines.filter(isPreset)),
    template: hashOf([...lines.filter((line) => !isPreset(line)), ...texts]),
  };
};
