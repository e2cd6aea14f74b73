/**
 * `millrace envs`: the presets of a run file, whether each can run on this machine and if not why, and the keys of each environment and
 * wrapper, as plain tables. A decoded run file goes in and the environments it may name, lines of text come out.
 */
import { Effect } from "effect";
import { shownPath } from "../src/config/compose.ts";
import { keys } from "../src/config/describe.ts";
import { isModulePath } from "../src/config/modulePath.ts";
import type { Preset, RunConfig } from "../src/config/RunConfig.ts";
import type { Registry } from "../src/env/registry.ts";
import { wrappers } from "../src/env/wrappers/registry.ts";
import { obstaclesOf } from "./presets.ts";
import { indented, table, wrapped } from "./table.ts";

const valueText = (key: string, value: unknown): string => `${key}=${JSON.stringify(value)}`;

/** What a preset sets, as overrides would. */
const settings = ({ env_config, wrappers }: Preset): string =>
  [
    ...Object.entries(env_config).map(([key, value]) => valueText(key, value)),
    ...(wrappers.length === 0 ? [] : [valueText("wrappers", wrappers)]),
  ].join(" ");

/** An environment as a run file would name it from here. */
const named = (envType: string): string => (isModulePath(envType) ? shownPath(envType) : envType);

/** Columns of names and defaults are no wider; what is longer goes on below. */
const widest = 28;

/** `width`: columns of the terminal. */
export const envs = Effect.fnUntraced(function* (config: RunConfig, { environments }: Registry, width: number) {
  const obstacles = yield* obstaclesOf(config);
  const presets = Object.entries(config.custom_envs).map(([tag, preset]) => [
    tag,
    named(preset.env_type),
    String(preset.max_actions_per_traj),
    obstacles.has(tag) ? "no" : "yes",
    settings(preset),
  ]);
  const options = (type: string, schema: Parameters<typeof keys>[0]) =>
    keys(schema).map(({ default: value, description, expected, key }) => [
      type,
      key,
      value,
      `${description} (${expected})`,
    ]);
  // Presets that lack the same are named together.
  const lacking = Map.groupBy(obstacles.keys(), (tag) => obstacles.get(tag)!.join("\n"));
  const reasons = [...lacking].flatMap(([sentences, tags]) => [
    ...wrapped(tags.join(", "), width),
    ...sentences.split("\n").flatMap((sentence) => indented(sentence, "  ", width)),
  ]);
  const lines: readonly string[] = [
    ...table([["PRESET", "ENVIRONMENT", "ACTIONS", "RUNS HERE", "ENV_CONFIG"], ...presets], { width }),
    ...(reasons.length === 0 ? [] : ["", "What does not run here, and why:", "", ...reasons]),
    "",
    "Keys of env_config, set as custom_envs.PRESET.env_config.KEY=VALUE:",
    "",
    ...table(
      [
        ["ENVIRONMENT", "KEY", "DEFAULT", "MEANING"],
        ...[...environments].flatMap(([type, { config: schema }]) => options(named(type), schema)),
      ],
      { width, widest },
    ),
    "",
    "Keys of wrappers, set as custom_envs.PRESET.wrappers=[{type: WRAPPER, KEY: VALUE}], the first innermost:",
    "",
    ...table(
      [
        ["WRAPPER", "KEY", "DEFAULT", "MEANING"],
        ...[...wrappers].flatMap(([type, { config: schema }]) => options(type, schema)),
      ],
      { width, widest },
    ),
  ];
  return lines;
});
