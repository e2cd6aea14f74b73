/** Explains a bottleneck to people in one sentence. */
import type { Pull } from "./Pull.ts";
import type { StageLoad } from "./StageLoad.ts";

const percent = (share: number): string => `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;

/** With two digits that count: updates take seconds, steps of environments microseconds. */
const duration = (ms: number): string => {
  if (ms < 10) return `${ms.toFixed(ms < 0.095 ? 2 : 1)} ms`;
  if (ms < 1000) return `${ms.toFixed(0)} ms`;
  return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
};

const causes: Readonly<Record<Pull["limit"], (stage: string) => string>> = {
  slots: (stage) => `its slots are what ${stage} lacks`,
  threads: () => "it has no further thread",
  memory: () => "no more sequences may hold a cache (generation.slots)",
  admission: () => "no more groups are admitted before the next window is consumed (pipeline.max_staleness)",
  update: () => "every window waits for its update",
  "main thread": () => "it works on the main thread, one window at a time",
  validation: () => "updates wait for validation, checkpoints and records",
  latency: () => "nothing waits for it; its own time is what an episode takes",
};

/** `load` is that of the stage which the pull names. */
export const explainPull = ({ gain, limit, stage }: Pull, load: StageLoad | undefined): string => {
  const measured =
    load === undefined
      ? ""
      : ` (${percent(load.busy)} busy, ${load.queue.toFixed(1)} waiting${load.serviceMs > 0 ? `, ${duration(load.serviceMs)} each` : ""})`;
  const next = gain === null ? "" : `; one more slot would gain about ${percent(gain)}`;
  return `${stage} bounds throughput${measured}: ${causes[limit](stage)}${next}.`;
};
