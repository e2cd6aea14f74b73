/**
 * Numbers that an environment reports of its steps, combined as in RAGEN. Within a turn the last action's value counts; `raw_reward` and
 * names that begin with `total_` are summed. Over an episode `final_` names keep their last value, `total_` names are summed, and others
 * are averaged over the turns.
 */
export type Info = Readonly<Record<string, number>>;

const isFinal = (key: string): boolean => key.startsWith("final_");
const isTotal = (key: string): boolean => key.startsWith("total_");

const combine = (info: Info, more: Info, sums: (key: string) => boolean): Info => {
  const values: Record<string, number> = { ...info };
  for (const [key, value] of Object.entries(more)) values[key] = sums(key) ? (values[key] ?? 0) + value : value;
  return values;
};

/** Info of one turn after one more action. */
export const mergeTurnInfo = (info: Info, more: Info): Info =>
  combine(info, more, (key) => isTotal(key) || key === "raw_reward");

/** Info of an episode, from its turns in order. */
export const episodeInfo = (turns: readonly Info[]): Info => {
  const sums = turns.reduce((info, more) => combine(info, more, (key) => !isFinal(key)), {});
  const share = ([key, value]: [string, number]): [string, number] =>
    isFinal(key) || isTotal(key) ? [key, value] : [key, value / turns.length];
  return Object.fromEntries(Object.entries(sums).map(share));
};
