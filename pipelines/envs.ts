/**
 * `millrace envs`: the presets of a run file, whether each can run on this machine and if not why, and the keys of each environment and
 * wrapper, as plain tables. It loads every environment.
 */
import { Effect } from "effect";
import { showPath } from "../src/config/compose.ts";
import { keyInfos } from "../src/config/describe.ts";
import { withLevels } from "../src/config/levels.ts";
import { isModulePath } from "../src/config/modulePath.ts";
import type { Preset, RunConfig } from "../src/config/RunConfig.ts";
import { environmentTypes, loadRegistry } from "../src/env/games/registry.ts";
import { wrappers } from "../src/env/wrappers/registry.ts";
import { obstaclesOf } from "./presets.ts";
import { indented, table, wrapped } from "./table.ts";

const valueText = (key: string, value: unknown): string => `${key}=${JSON.stringify(value)}`;

/** The settings of a preset, written as overrides. */
const settings = ({ env_config, wrappers }: Preset): string =>
  [
    ...Object.entries(env_config).map(([key, value]) => valueText(key, value)),
    ...(wrappers.length === 0 ? [] : [valueText("wrappers", wrappers)]),
  ].join(" ");

/** An environment's type as a run file in the current folder would write it. */
const typeText = (envType: string): string => (isModulePath(envType) ? showPath(envType) : envType);

/** Width of the columns of names and defaults; longer text continues on the next line. */
const widest = 28;

/** Lines for a terminal of `width` columns. */
export const envs = Effect.fnUntraced(function* (config: RunConfig, width: number) {
  const named = Object.values(config.custom_envs).map(({ env_type }) => env_type);
  const { environments } = yield* Effect.promise(() => loadRegistry([...environmentTypes, ...named]));
  const obstacles = yield* obstaclesOf(config);
  const presets = Object.entries(withLevels(config.custom_envs)).map(([tag, preset]) => [
    tag,
    typeText(preset.env_type),
    String(preset.max_actions_per_traj),
    obstacles.has(tag) ? "no" : "yes",
    settings(preset),
  ]);
  const options = (type: string, schema: Parameters<typeof keyInfos>[0]) =>
    keyInfos(schema).map(({ default: value, description, expected, key }) => [
      type,
      key,
      value,
      `${description} (${expected})`,
    ]);
  // Presets with the same reasons are named together.
  const lacking = Map.groupBy(obstacles, ([, sentences]) => sentences.join("\n"));
  const reasons = [...lacking].flatMap(([sentences, blocked]) => [
    ...wrapped(blocked.map(([tag]) => tag).join(", "), width),
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
        ...[...environments].flatMap(([type, { config: schema }]) => options(typeText(type), schema)),
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
