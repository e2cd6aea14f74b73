/**
 * Numbers that an environment reports of its steps, and how they add up over an episode: of a name that begins with `final_` the last value
 * counts; one that begins with `total_` is summed; any other is summed and divided by the number of turns (RAGEN's aggregation).
 */
export type Info = Readonly<Record<string, number>>;

const isFinal = (key: string): boolean => key.startsWith("final_");

/** Info of one turn after one more action. */
export const added = (info: Info, more: Info): Info => {
  const sums: Record<string, number> = { ...info };
  for (const [key, value] of Object.entries(more)) sums[key] = isFinal(key) ? value : (sums[key] ?? 0) + value;
  return sums;
};

/** Info of an episode, from its turns in order. */
export const ofEpisode = (turns: readonly Info[]): Info => {
  const sums = turns.reduce(added, {});
  const share = ([key, value]: [string, number]): [string, number] =>
    isFinal(key) || key.startsWith("total_") ? [key, value] : [key, value / turns.length];
  return Object.fromEntries(Object.entries(sums).map(share));
};
