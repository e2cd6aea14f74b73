/**
 * Scores an answer against its accepted forms: exact match and token F1, and from them the reward. The measures are SQuAD's (Rajpurkar et al.,
 * 2016). By HotpotQA's rule (Yang et al., 2018) a yes or no is right as a whole or earns nothing.
 */

export interface Score {
  /** True if the answer equals an accepted form, both normalised. */
  readonly em: boolean;
  /** The best token F1 over the accepted forms; 1 on an exact match. */
  readonly f1: number;
}

export interface Rewards {
  readonly correct_reward: number;
  readonly incorrect_reward: number;
  readonly f1_threshold: number;
}

const punctuation = /[!"#$%&'()*+,\-./:;<=>?@[\\\]^_`{|}~]/g;
/** Matches articles as whole words, in any script (`\b` is for ASCII only). */
const articles = /(?<![\p{L}\p{N}_])(?:an?|the)(?![\p{L}\p{N}_])/gu;

/** Writes a text in lower case with single spaces, without ASCII punctuation and articles. */
export const normalised = (text: string): string =>
  text.toLowerCase().replace(punctuation, "").replace(articles, " ").split(/\s+/).filter(Boolean).join(" ");

/** Answers that are right as a whole or not at all. */
const whole: ReadonlySet<string> = new Set(["yes", "no", "noanswer"]);

const counts = (tokens: readonly string[]): Map<string, number> => {
  const tokenCounts = new Map<string, number>();
  for (const token of tokens) tokenCounts.set(token, (tokenCounts.get(token) ?? 0) + 1);
  return tokenCounts;
};

/** The F1 of two normalised texts as bags of tokens. */
const tokenF1 = (answer: string, truth: string): number => {
  if (answer !== truth && (whole.has(answer) || whole.has(truth))) return 0;
  const given = answer.split(" ").filter(Boolean);
  const expected = truth.split(" ").filter(Boolean);
  const available = counts(expected);
  let shared = 0;
  for (const [token, times] of counts(given)) shared += Math.min(times, available.get(token) ?? 0);
  return shared === 0 ? 0 : (2 * shared) / (given.length + expected.length);
};

export const scoreOf = (answer: string, truths: readonly string[]): Score => {
  const given = normalised(answer);
  const accepted = truths.map(normalised);
  if (accepted.includes(given)) return { em: true, f1: 1 };
  return { em: false, f1: Math.max(0, ...accepted.map((truth) => tokenF1(given, truth))) };
};

/** The reward: `correct_reward` for an exact match, f1 times it if f1 reaches the threshold, else `incorrect_reward`. */
export const rewardOf = ({ em, f1 }: Score, rewards: Rewards): number => {
  if (em) return rewards.correct_reward;
  return f1 >= rewards.f1_threshold ? rewards.correct_reward * f1 : rewards.incorrect_reward;
};
