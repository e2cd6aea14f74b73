/** A machine of known speed, and what a probe would have seen of it, played by the same simulation with which tuning predicts. */
import type { Machine } from "../../../src/tools/simulation/replay/Machine.ts";
import type { PlayedGroup } from "../../../src/tools/simulation/replay/Played.ts";
import { run, type Settings, type Work } from "../../../src/tools/simulation/replay/Training.ts";
import { longest, stepsOf } from "../../../src/tools/simulation/replay/Update.ts";
import type { ObservedRun, ObservedWindow } from "../../../src/tools/tuning/ObservedRun.ts";
import type { Workload } from "../../../src/tools/tuning/Predict.ts";

export const machine: Machine = {
  cores: 2,
  decode: { step: 1.5, row: 0.05, crowding: 0.0004 },
  prefill: { step: 0, token: 0.025 },
  fedShare: 0.6,
  turn: 0.3,
  steps: [0.2, 0.4, 1.2],
  stepComputes: 1,
  update: {
    token: new Map([
      [512, 0.2],
      [1024, 0.17],
      [2048, 0.18],
      [4096, 0.21],
    ]),
    lanes: new Map([
      [1, 1],
      [2, 1.2],
    ]),
  },
  window: 12,
  handover: 8,
  slowdown: { generatorByGenerator: 0.15, generatorByLane: 0.25, laneByGenerator: 0.2 },
};

export const settings: Settings = {
  mode: "async",
  maxStaleness: 2,
  order: "admission",
  slots: 64,
  generatorThreads: 1,
  lanes: 2,
  microBatchTokens: 1024,
  rolloutConcurrency: 0,
  stepThreads: 2,
  stepConcurrency: 2,
};

/** Groups of uneven lengths; every fifth is filtered out. */
export const playedGroups: readonly PlayedGroup[] = Array.from({ length: 40 }, (_, group) => ({
  kept: group % 5 !== 0,
  episodes: Array.from({ length: 8 }, (_, member) =>
    Array.from({ length: 1 + ((group + member) % 4) }, (_, turn) => ({
      prompt: 20 + 3 * turn,
      sampled: 8 + ((7 * group + 5 * member + 3 * turn) % 11),
    })),
  ),
}));

export const workload: Workload = {
  groups: 8,
  miniBatch: 32,
  prefillTokens: 2048,
  playedGroups: playedGroups,
  correction: new Map(),
};

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

const workFrom = (first: number, { steps }: Machine): Work => ({
  ...workload,
  play: (group) => playedGroups[(first + group + 5 * playedGroups.length) % playedGroups.length]!,
  step: (count) => steps[count % steps.length]!,
});

const allTurns = playedGroups.flatMap(({ episodes }) => episodes.flat());
/** Milliseconds that all lanes together compute where their update takes so long. */
const lanesCompute = (
  learning: number,
  groups: readonly PlayedGroup[],
  { lanes, microBatchTokens }: Settings,
): number => {
  const steps = stepsOf(
    groups.filter(({ kept }) => kept),
    { microBatchTokens, miniBatch: workload.miniBatch },
  );
  return (learning * sum(steps.map(sum))) / Math.max(1, sum(steps.map((step) => longest(step, lanes))));
};

const perSampled = (part: number) => part / sum(allTurns.map(({ sampled }) => sampled));

/** The work that the rest of the run does while so many tokens are sampled. */
const meanwhileOf = (real: Machine, sampled: number) => {
  const turns = sampled * perSampled(allTurns.length);
  return {
    sampled,
    prefilled: sampled * perSampled(sum(allTurns.map(({ prompt }) => prompt))) * real.fedShare,
    turns,
    stepping: turns * (sum(real.steps) / real.steps.length),
    steps: turns,
    main: turns * real.turn,
    computing: 0,
    others: 0,
  };
};

/** The run that a probe observes over `windows` windows; `rows` limits the replies at once of each. */
export const observe = (real: Machine, at: Settings, windows: number, rows: readonly number[] = []): ObservedRun => {
  const apart = at.mode === "sync";
  const part = (window: number, count: number) => {
    const first = window * workload.groups;
    const limited = { ...at, slots: Math.min(at.slots, rows[window % rows.length] ?? at.slots) };
    // Seen once it has settled, and while it goes on.
    const edge = apart ? 0 : at.maxStaleness + 1;
    const trained = run(real, limited, workFrom(first - edge * workload.groups, real), count + 2 * edge);
    const groups = Array.from(
      { length: count * workload.groups },
      (_, i) => playedGroups[(first + i) % playedGroups.length]!,
    );
    const seen = trained.slice(edge, edge + count).map((consumed, i): ObservedWindow => {
      const { decodeSteps, generated, generating } = consumed;
      const time = consumed.at - (trained[edge + i - 1]?.at ?? 0) + (apart ? real.window : 0);
      const meanwhile = meanwhileOf(real, generated);
      const windowGroups = groups.slice(i * workload.groups, (i + 1) * workload.groups);
      const computing =
        meanwhile.main + generating + lanesCompute(consumed.learning, windowGroups, at) + meanwhile.stepping;
      const replies = limited.slots * at.generatorThreads;
      return { ...consumed, time, replies, meanwhile: { ...meanwhile, computing, decodeSteps, generating } };
    });
    return { groups, seen };
  };
  const parts = apart ? Array.from({ length: windows }, (_, window) => part(window, 1)) : [part(0, windows)];
  return {
    settings: at,
    windows: parts.flatMap(({ seen }) => seen),
    groups: parts.flatMap(({ groups }) => groups),
    steps: real.steps,
  };
};
