/**
 * The prompt of a group, as a pure function of its number and of the level that it plays. Group `g` of training has the instance seed
 * `seed + g` and the tag at its place in the window (`n_groups` of each tag, in order); so has a group of a refill. `domain/SeedSchedule` knows
 * the numbers still to be issued.
 */
import type { Levels } from "../config/levels.ts";
import type { RunConfig } from "../config/RunConfig.ts";
import type { Version } from "../domain/Episode.ts";
import type { Prompt } from "../domain/Group.ts";
import { firstAnalysisNumber } from "../domain/SeedSchedule.ts";
import * as TaskSampler from "../domain/TaskSampler.ts";

type Groups = Pick<RunConfig["es_manager"]["train"], "env_groups" | "group_size" | "tags" | "seed"> & {
  readonly n_groups: readonly number[];
  /** Tags of levels by the tag that has them. */
  readonly levels: Levels;
};

/** A tag of the run file, and how many groups of it stand before a place in the window. */
interface TagAtPlace {
  readonly tag: string;
  readonly earlier: number;
}

/** The tag of the group at `place` (0 … env_groups - 1) of a window; `n_groups` must sum to `env_groups`. */
const tagAt = (groups: Groups, place: number): TagAtPlace => {
  let end = 0;
  for (const [i, tag] of groups.tags.entries()) {
    const begin = end;
    end += groups.n_groups[i] ?? 0;
    if (place < end) return { tag, earlier: place - begin };
  }
  throw new RangeError(`n_groups names ${end} groups, and group ${place} of a window is asked for`);
};

/** The tag that a group at `place` plays where nothing is drawn: the levels of a tag take turns. */
const tagInTurn = (groups: Groups, place: number): string => {
  const { earlier, tag } = tagAt(groups, place);
  const levels = Object.hasOwn(groups.levels, tag) ? groups.levels[tag] : undefined;
  return levels?.[earlier % levels.length] ?? tag;
};

/** The function that draws the level of training's group `group`; it returns undefined where the group's preset has none. */
export const levelDrawer =
  (groups: Groups, weighing: TaskSampler.Weighing, seed: number) =>
  (group: number, posterior: TaskSampler.Posterior): TaskSampler.WeighedLevel | undefined => {
    const { tag } = tagAt(groups, group % groups.env_groups);
    const levels = Object.hasOwn(groups.levels, tag) ? groups.levels[tag] : undefined;
    if (levels === undefined) return undefined;
    return TaskSampler.draw(TaskSampler.weigh(posterior, levels, weighing), seed, group);
  };

/** The prompt of training's group `group`, which plays `level` if one is drawn. */
export const promptOf = (groups: Groups, group: number, admittedAt: Version, level?: string): Prompt => ({
  group,
  tag: level ?? tagInTurn(groups, group % groups.env_groups),
  seed: groups.seed + group,
  size: groups.group_size,
  admittedAt,
});

/**
 * The prompts of one validation: the same seeds and tags every time. `round` counts validations and only sets the group ids apart, so
 * that two validations of a run never share a sequence.
 */
export const validation = (groups: Groups, round: number, admittedAt: Version): readonly Prompt[] =>
  Array.from({ length: groups.env_groups }, (_, place) => ({
    ...promptOf(groups, place, admittedAt),
    group: round * groups.env_groups + place,
  }));

/** Instance seeds of an analysis lie this far above training's first, out of reach of training and validation. */
const analysisSeeds = 2 ** 31;
/** The prompts of the analysis of a window: the same instances every time, each time with draws of their own. */
export const analysis = (groups: Groups, window: number, admittedAt: Version): readonly Prompt[] =>
  Array.from({ length: groups.env_groups }, (_, place) => {
    const prompt = promptOf(groups, place, admittedAt);
    const number = (window * groups.env_groups + place) % firstAnalysisNumber;
    return { ...prompt, group: firstAnalysisNumber + number, seed: prompt.seed + analysisSeeds };
  });
