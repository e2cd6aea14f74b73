/**
 * Pairs of a prompt and the thought that followed it, out of played groups, and how some of them are drawn to be measured. Prompts and
 * thoughts are the very ids that were shown and sampled: nothing is decoded and encoded again. Pure; equal streams draw equal pairs.
 */
import { concatIds } from "../../domain/Batch.ts";
import type { Episode, Sequence } from "../../domain/Episode.ts";
import { type Group, members } from "../../domain/Group.ts";
import type { Random } from "../../domain/Random.ts";
import type { Drawing } from "../../domain/Regime.ts";

export interface Pair {
  readonly group: number;
  /** All ids before the thought, its opening tag the last of them. */
  readonly prompt: Int32Array;
  /** Not empty. */
  readonly thought: Int32Array;
}

/** Pairs to score behind prompts. */
export interface Draw {
  readonly pairs: readonly Pair[];
  readonly columns: readonly Int32Array[];
  /** The column of each pair's own prompt. */
  readonly ownColumns: readonly number[];
}

const pairsOfSequence = ({ turns }: Sequence, group: number): readonly Pair[] =>
  turns.flatMap(({ prompt, sampled, thought }, turn) => {
    if (thought === undefined) return [];
    const before = turns.slice(0, turn).flatMap((earlier) => [earlier.prompt, earlier.sampled.ids]);
    const [from, to] = thought;
    const shown = concatIds([...before, prompt, sampled.ids.subarray(0, from)]);
    return [{ group, prompt: shown, thought: sampled.ids.slice(from, to) }];
  });

const equal = (a: Int32Array, b: Int32Array): boolean => a.length === b.length && a.every((id, i) => id === b[i]);

/** The pair of an episode's first turn, where that holds a thought. */
const firstPair = ({ id, sequences }: Episode): readonly Pair[] => {
  const [turn] = sequences[0]?.turns ?? [];
  return turn === undefined ? [] : pairsOfSequence({ turns: [turn] }, id.group);
};

/**
 * First turns, each at most once, in random order. The columns are the groups, by the prompt of their first pair; a pair whose prompt is
 * another takes no part.
 */
const firstTurns = (groups: readonly Group[], most: number, random: Random): Draw => {
  const prompts = new Map<number, Int32Array>();
  const pairs = groups.flatMap((group) => members(group).flatMap(firstPair));
  for (const { group, prompt } of pairs) if (!prompts.has(group)) prompts.set(group, prompt);
  const ids = [...prompts.keys()];
  const usable = pairs.filter(({ group, prompt }) => equal(prompt, prompts.get(group)!));
  const drawn = random.shuffle(usable).slice(0, most);
  return { pairs: drawn, columns: [...prompts.values()], ownColumns: drawn.map(({ group }) => ids.indexOf(group)) };
};

/** Draws with replacement: an episode at random, then one of its turns that hold a thought. Each draw is a column of its own. */
const anyTurns = (groups: readonly Group[], most: number, random: Random): Draw => {
  const pairsByEpisode = groups
    .flatMap(members)
    .map((episode) => episode.sequences.flatMap((sequence) => pairsOfSequence(sequence, episode.id.group)))
    .filter((pairs) => pairs.length > 0);
  const count = pairsByEpisode.length === 0 ? 0 : Math.min(most, pairsByEpisode.flat().length);
  const pairs = Array.from({ length: count }, () => random.pick(random.pick(pairsByEpisode)));
  return { pairs, columns: pairs.map(({ prompt }) => prompt), ownColumns: pairs.map((_, i) => i) };
};

/** At most `most` pairs; Infinity draws as many as there are turns with a thought. */
export const draw = (drawing: Drawing, groups: readonly Group[], most: number, random: Random): Draw =>
  (drawing === "first_turn" ? firstTurns : anyTurns)(groups, most, random);

/** The first `count` pairs of a draw, with the columns that it then has. */
export const cutTo = (drawing: Drawing, { columns, ownColumns, pairs }: Draw, count: number): Draw => ({
  pairs: pairs.slice(0, count),
  columns: drawing === "first_turn" ? columns : columns.slice(0, count),
  ownColumns: ownColumns.slice(0, count),
});
