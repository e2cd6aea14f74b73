/**
 * What an environment tells of its steps in numbers, and how they add up: a name that begins with `final_` is of how things stand, so
 * only its last value counts; one that begins with `total_` is summed over an episode; any other is summed and divided by the turns
 * (RAGEN's aggregation).
 */
export type Info = Readonly<Record<string, number>>;

const standing = (key: string): boolean => key.startsWith("final_");

/** Info of one turn after one more action. */
export const added = (info: Info, more: Info): Info => {
  const sums: Record<string, number> = { ...info };
  for (const [key, value] of Object.entries(more)) sums[key] = standing(key) ? value : (sums[key] ?? 0) + value;
  return sums;
};

/** Info of an episode, from its turns in order. */
export const ofEpisode = (turns: readonly Info[]): Info => {
  const sums = turns.reduce(added, {});
  const share = ([key, value]: [string, number]): [string, number] =>
    standing(key) || key.startsWith("total_") ? [key, value] : [key, value / turns.length];
  return Object.fromEntries(Object.entries(sums).map(share));
};
