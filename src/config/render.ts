/**
 * Writes a configuration as the YAML file of a run's folder, with every key and no includes.
 * Reading it back gives an equal configuration, so a run can be resumed from its folder alone.
 */
import { Schema } from "effect";
import { stringify } from "yaml";
import { RunConfig } from "./RunConfig.ts";

/** Renders without range checks, which reading does. */
export const render = (config: RunConfig): string =>
  stringify(Schema.encodeSync(RunConfig)(config, { disableChecks: true }), {
    lineWidth: 0,
    aliasDuplicateObjects: false,
  });
