/**
 * Measures what the task sampler costs a window: the draws of its groups' levels and the counting of their episodes, against a step of the
 * quickstart on lakes of five levels.
 */
import type { Episode } from "../src/domain/Episode.ts";
import { type Group, levelTag } from "../src/domain/Group.ts";
import * as TaskSampler from "../src/domain/TaskSampler.ts";
import { type Bench, type Figure, figureOf } from "./Bench.ts";
import { samplesOf } from "./samples.ts";
import { pace, trainingRun } from "./trainingRun.ts";

const GROUPS = 16;
const SIZE = 8;
const TURNS = 4;
const TOKENS = 30;
const WINDOWS = 300;
const STEPS = 5;

const tags = ["3x3", "4x4", "4x4-slip", "6x6", "6x6-slip"].map((level) => levelTag("FrozenLakeLevels", level));

const weighing: TaskSampler.Weighing = { by: "difficulty", epsilon: 0.05, floor: 0.1, cost: "tokens", groupSize: SIZE };

const turn: Episode["sequences"][number]["turns"][number] = {
  prompt: new Int32Array(0),
  sampled: {
    ids: new Int32Array(TOKENS),
    mu: new Float32Array(TOKENS),
    versions: new Int32Array(TOKENS),
    entropies: new Float32Array(TOKENS),
    finish: "stop",
  },
  state: "",
  reply: "",
  parsed: true,
  actions: [],
  executed: 1,
  reward: 0,
  penalty: 0,
  info: {},
};

const groupOf = (group: number, tag: string): Group => ({
  prompt: { group, tag, seed: group, size: SIZE, admittedAt: 0 },
  episodes: Array.from({ length: SIZE }, (_, member) => ({
    id: { group, member },
    tag,
    seed: group,
    sequences: [{ turns: Array.from({ length: TURNS }, () => turn) }],
    outcome: { _tag: "Done", success: (group + member) % 3 === 0 },
  })),
});

/** Milliseconds of a window's draws, and of counting its episodes. */
const timeWindows = (): readonly { readonly draws: number; readonly counts: number }[] => {
  let sampler = TaskSampler.start(2);
  return Array.from({ length: WINDOWS }, (_, window) => {
    const begun = performance.now();
    const levels = Array.from({ length: GROUPS }, (_, place) => {
      const posterior = TaskSampler.posteriorFor(sampler, window, window);
      return TaskSampler.draw(TaskSampler.weigh(posterior, tags, weighing), 0, window * GROUPS + place).tag;
    });
    const drawn = performance.now();
    const groups = levels.map((tag, place) => groupOf(window * GROUPS + place, tag));
    const counting = performance.now();
    sampler = TaskSampler.consume(sampler, { forget: 0.9, counts: TaskSampler.countLevels(groups) });
    return { draws: drawn - begun, counts: performance.now() - counting };
  });
};

export const bench: Bench = {
  question: "what does the task sampler cost a step?",
  parts: [
    async () => {
      const windows = timeWindows();
      const steps = await trainingRun({
        overrides: [
          "es_manager.train.tags=[FrozenLakeLevels]",
          "es_manager.val.tags=[FrozenLakeLevels]",
          "es_manager.train.sampler.by=difficulty",
        ],
        lasts: { steps: STEPS },
      });
      const stepMs = pace(steps);
      const draws = samplesOf(windows.map((window) => window.draws));
      const counts = samplesOf(windows.map((window) => window.counts));
      const shares = samplesOf(windows.map((window) => (window.draws + window.counts) / stepMs));
      return (): readonly Figure[] => [
        figureOf(`draws of a window, ${GROUPS} groups and ${tags.length} levels`, "µs", draws, { scale: 1_000 }),
        figureOf(`counting of its ${GROUPS * SIZE} episodes`, "µs", counts, { scale: 1_000 }),
        figureOf("both over a step of the quickstart", "", shares, { target: { atMost: 0.01 } }),
        figureOf("a step of the quickstart", "ms", samplesOf([stepMs])),
      ];
    },
  ],
};
