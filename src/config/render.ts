/**
 * Writes a configuration as the YAML file of a run's folder, with every key and no includes.
 * Reading it back gives an equal configuration, so a run can be resumed from its folder alone.
 */
import { Schema } from "effect";
import { stringify } from "yaml";
import { withoutLevels } from "./levels.ts";
import { RunConfig } from "./RunConfig.ts";

/** Renders without range checks, which reading does, and without the presets of levels, which reading makes again. */
export const render = (config: RunConfig): string => {
  const written = { ...config, custom_envs: withoutLevels(config.custom_envs) };
  return stringify(Schema.encodeSync(RunConfig)(written, { disableChecks: true }), {
    lineWidth: 0,
    aliasDuplicateObjects: false,
  });
};
