/** The settings that can be tuned: where they stand in the run file, and the choices of a machine. */
import type { RunConfig } from "../../config/RunConfig.ts";
import { lead } from "../../domain/PipelineMode.ts";
import type { Settings } from "../simulation/replay/Training.ts";

export const settingsOf = ({ actor, generation, model, pipeline }: RunConfig): Settings => ({
  mode: pipeline.mode,
  maxStaleness: pipeline.max_staleness,
  order: pipeline.window_order,
  schedule: pipeline.schedule,
  slots: generation.slots,
  generatorThreads: model.generator_threads,
  lanes: model.learner_lanes,
  microBatchTokens: actor.micro_batch_tokens,
  rolloutConcurrency: pipeline.rollout_concurrency,
  stepThreads: pipeline.step_threads,
  stepConcurrency: pipeline.step_concurrency,
});

/** The run file with other settings. */
export const withSettings = (config: RunConfig, settings: Settings): RunConfig => ({
  ...config,
  model: { ...config.model, generator_threads: settings.generatorThreads, learner_lanes: settings.lanes },
  generation: { ...config.generation, slots: settings.slots },
  actor: { ...config.actor, micro_batch_tokens: settings.microBatchTokens },
  pipeline: {
    ...config.pipeline,
    mode: settings.mode,
    max_staleness: settings.maxStaleness,
    rollout_concurrency: settings.rolloutConcurrency,
    step_threads: settings.stepThreads,
    step_concurrency: settings.stepConcurrency,
  },
});

/** The keys of the run file that settings stand for. */
export const keysOf = (settings: Settings): ReadonlyMap<string, number | string> =>
  new Map<string, number | string>([
    ["pipeline.mode", settings.mode],
    ["pipeline.max_staleness", settings.maxStaleness],
    ["model.generator_threads", settings.generatorThreads],
    ["generation.slots", settings.slots],
    ["model.learner_lanes", settings.lanes],
    ["actor.micro_batch_tokens", settings.microBatchTokens],
    ["pipeline.rollout_concurrency", settings.rolloutConcurrency],
    ["pipeline.step_threads", settings.stepThreads],
    ["pipeline.step_concurrency", settings.stepConcurrency],
  ]);

/** The keys of `to` that are not as in `from`. */
export const changes = (from: Settings, to: Settings): ReadonlyMap<string, number | string> => {
  const before = keysOf(from);
  return new Map([...keysOf(to)].filter(([key, value]) => before.get(key) !== value));
};

/** Counts of threads worth trying: powers of two up to all cores, and one core less. */
export const threadChoices = (cores: number): readonly number[] => {
  const powers = Array.from({ length: Math.floor(Math.log2(cores)) + 1 }, (_, i) => 2 ** i);
  return [...new Set([...powers, Math.max(1, cores - 1), cores])].sort((a, b) => a - b);
};

/** Sizes of a pass: half of the run file's, that, and up to four times as much, each once. */
export const passChoices = (shipped: number): readonly number[] => [
  ...new Set([Math.max(64, Math.round(shipped / 2)), shipped, 2 * shipped, 4 * shipped]),
];

/** Rows of a decode step that probes look at, of a run file with so many slots and episodes in a window. */
export const probedRows = ({ slots }: Settings, episodes: number): readonly number[] => {
  const most = Math.min(slots, episodes);
  return [most, most / 2, most / 4, most / 8].map((count) => Math.max(1, Math.floor(count)));
};

/** The fewest slots that a probe looks at in which generation and updates go on together. */
export const fewSlots = ({ slots }: Settings, episodes: number): number =>
  Math.max(1, Math.floor(Math.min(slots, episodes) / 4));

/** Slots of a thread: powers of two, as many as there are episodes at most; not fewer than the rows of any probe, for nothing is known of them. */
const slotChoices = (shipped: number, fewest: number, episodes: number): readonly number[] => {
  const powers = Array.from({ length: 11 }, (_, i) => 8 * 2 ** i);
  const within = powers.filter((slots) => slots >= fewest && slots < 2 * episodes);
  return [...new Set([...within, shipped])].sort((a, b) => a - b);
};

export interface Bounds {
  readonly cores: number;
  /** Groups of a window, and episodes of a group. */
  readonly groups: number;
  readonly groupSize: number;
  /** The largest bound on staleness that may be chosen. */
  readonly maxStaleness: number;
  /** True when settings have the memory they need. */
  readonly fits: (settings: Settings) => boolean;
}

/** Settings of the threads, all combinations that fit. */
export const threadsSpace = (shipped: Settings, bounds: Bounds): readonly Settings[] => {
  const { cores, fits, groupSize, groups } = bounds;
  const episodes = (lead(shipped) + 1) * groups * groupSize;
  const window = groups * groupSize;
  const fewest = shipped.mode === "async" ? fewSlots(shipped, window) : Math.min(...probedRows(shipped, window));
  const threads = threadChoices(cores);
  const choices: Settings[] = [];
  for (const generatorThreads of new Set([...threads, shipped.generatorThreads]))
    for (const slots of slotChoices(shipped.slots, fewest, episodes / generatorThreads))
      for (const lanes of new Set([...threads, shipped.lanes]))
        for (const microBatchTokens of passChoices(shipped.microBatchTokens))
          choices.push({ ...shipped, generatorThreads, slots, lanes, microBatchTokens });
  return choices.filter(fits);
};

/** Settings that differ from `from` in one of the others. */
export const variations = (from: Settings, bounds: Bounds): readonly Settings[] => {
  const { cores, fits, groups } = bounds;
  const inFlight = [0, groups, Math.ceil(groups / 2)].filter((count) => count < (lead(from) + 1) * groups);
  const bound = from.mode === "async" ? [1, 2, 3, 4, 6, 8].filter((most) => most <= bounds.maxStaleness) : [];
  return [
    ...inFlight.map((rolloutConcurrency) => ({ ...from, rolloutConcurrency })),
    ...threadChoices(cores).map((count) => ({ ...from, stepThreads: count, stepConcurrency: count })),
    ...bound.map((maxStaleness) => ({ ...from, maxStaleness })),
  ].filter((settings) => !sameSettings(settings, from) && fits(settings));
};

export const sameSettings = (a: Settings, b: Settings): boolean => changes(a, b).size === 0;
