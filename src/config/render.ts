/**
 * A run's configuration as the YAML text of its folder: every key, no includes, no aliases. Reading it back gives an equal
 * configuration, so that a run folder alone is enough to go on from.
 */
import { Schema } from "effect";
import { stringify } from "yaml";
import { RunConfig } from "./RunConfig.ts";

export const render = (config: RunConfig): string =>
  stringify(Schema.encodeSync(RunConfig)(config), { lineWidth: 0, aliasDuplicateObjects: false });
