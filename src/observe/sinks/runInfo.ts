/** Describes a run to its sinks, from its run file and its progress. */
import type { RunConfig } from "../../config/RunConfig.ts";
import type { RunInfo } from "./Sink.ts";

const modeText = ({ max_staleness: staleness, mode }: RunConfig["pipeline"]): string =>
  mode === "async" ? `async, max staleness ${staleness}` : mode;

export const runInfo = (config: RunConfig, at: Pick<RunInfo, "alarms" | "folder" | "from" | "started">): RunInfo => ({
  ...at,
  name: config.run.name,
  mode: modeText(config.pipeline),
  seed: config.run.seed,
  steps: config.trainer.total_training_steps,
  window: {
    groups: config.es_manager.train.env_groups,
    groupSize: config.es_manager.train.group_size,
    order: config.pipeline.window_order,
  },
  config: JSON.parse(JSON.stringify(config)) as Readonly<Record<string, unknown>>,
});
