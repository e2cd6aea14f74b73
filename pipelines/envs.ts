/**
 * `millrace envs`: the presets of a run file and the keys of each environment, as two plain tables. A decoded run file goes in, lines
 * of text come out.
 */

import { keys } from "../src/config/describe.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { environments } from "../src/envs/registry.ts";

/** Columns as wide as their widest cell, the last one free. */
export const table = (rows: ReadonlyArray<readonly string[]>): readonly string[] => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join("  ")
      .trimEnd(),
  );
};

const settings = (config: Readonly<Record<string, unknown>>): string =>
  Object.entries(config)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join(" ");

export const envs = ({ custom_envs }: RunConfig): readonly string[] => {
  const presets = Object.entries(custom_envs).map(([tag, { env_config, env_type, max_actions_per_traj }]) => [
    tag,
    environments.has(env_type) ? env_type : `${env_type} (not available)`,
    String(max_actions_per_traj),
    settings(env_config),
  ]);
  const options = [...environments].flatMap(([type, { config }]) =>
    keys(config).map(({ default: value, description, expected, key }) => [
      type,
      key,
      value,
      `${description} (${expected})`,
    ]),
  );
  return [
    ...table([["PRESET", "ENVIRONMENT", "ACTIONS", "ENV_CONFIG"], ...presets]),
    "",
    "Keys of env_config, set as custom_envs.PRESET.env_config.KEY=VALUE:",
    "",
    ...table([["ENVIRONMENT", "KEY", "DEFAULT", "MEANING"], ...options]),
  ];
};
