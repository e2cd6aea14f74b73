/**
 * Statistics of a matrix of log-probabilities: each row is a thought, each column a prompt, and one column is the thought's own prompt.
 * Pure. Formulas: RAGEN-2 (Wang et al., arXiv 2604.06268). A row's marginal is its mean probability over the columns. Matched minus
 * marginal estimates I(X;Z); for whole sequences it is at most ln of the number of columns (InfoNCE, van den Oord et al. 2018).
 */
import { mean } from "../../domain/Statistics.ts";

export interface ScoreMatrix {
  /** Log-probability of thought i behind prompt j, nats, summed over its ids. One row for each thought, at least one. */
  readonly sums: readonly Float64Array[];
  /** Ids of each thought, at least 1. */
  readonly lengths: readonly number[];
  /** The column of each thought's own prompt. */
  readonly ownColumns: readonly number[];
  /** The number of each column's prompt; columns with equal numbers are identical. At least one column. */
  readonly prompts: readonly number[];
}

/** Estimates over whole thoughts, or per token of them; nats. */
export interface Information {
  /** Mean of matched - marginal: the estimate of I(X;Z). */
  readonly information: number;
  readonly matched: number;
  readonly marginal: number;
  /** Population deviation of the marginal over the thoughts. */
  readonly marginalStd: number;
  /** Mean of (matched - marginal) / (marginalStd + eps). */
  readonly zscore: number;
}

export interface Retrieval {
  readonly k: number;
  /** Share of the thoughts for which one of the k likeliest columns is identical to their own. */
  readonly accuracy: number;
  /** The accuracy of columns in random order: k times the share of identical columns, 1 at most. */
  readonly chance: number;
}

export interface CollapseStatistics {
  readonly token: Information;
  readonly sequence: Information;
  /** ln of the number of columns. */
  readonly bound: number;
  /** For k = 1, 2, 4 and 8, by the log-probabilities per token. */
  readonly retrieval: readonly Retrieval[];
}

const ks = [1, 2, 4, 8] as const;

/** log(sum(exp(values))). */
const logSumExp = (values: Float64Array): number => {
  const most = values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  return most + Math.log(values.reduce((sum, value) => sum + Math.exp(value - most), 0));
};

const populationStd = (values: readonly number[]): number => {
  const centre = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - centre) ** 2)));
};

const informationOf = (rows: readonly Float64Array[], ownColumns: readonly number[], eps: number): Information => {
  const matched = rows.map((row, i) => row[ownColumns[i]!]!);
  const marginal = rows.map((row) => logSumExp(row) - Math.log(row.length));
  const marginalStd = populationStd(marginal);
  const gains = matched.map((value, i) => value - marginal[i]!);
  return {
    information: mean(gains),
    matched: mean(matched),
    marginal: mean(marginal),
    marginalStd,
    zscore: mean(gains.map((gain) => gain / (marginalStd + eps))),
  };
};

/** Returns the probability that `k` of `all` equal items, drawn at random, include one of the `matching` ones. */
const drawn = (k: number, matching: number, all: number): number => {
  let missed = 1;
  for (let i = 0; i < Math.min(k, all); i++) missed *= (all - matching - i) / (all - i);
  return 1 - Math.max(0, missed);
};

/** The probability that one of the k likeliest columns is identical to the row's own, where equal values are ordered at random. */
const hit = (row: Float64Array, ownColumn: number, prompts: readonly number[], k: number): number => {
  const value = row[ownColumn]!;
  const likelier = row.reduce((count, other) => count + (other > value ? 1 : 0), 0);
  const equal = row.reduce((count, other) => count + (other === value ? 1 : 0), 0);
  const matching = prompts.filter((prompt, column) => prompt === prompts[ownColumn] && row[column] === value).length;
  return likelier >= k ? 0 : drawn(k - likelier, matching, equal);
};

/** `eps` is added to the deviation that z-scores divide by. */
export const statisticsOf = ({ lengths, ownColumns, prompts, sums }: ScoreMatrix, eps: number): CollapseStatistics => {
  const perToken = sums.map((row, i) => row.map((sum) => sum / lengths[i]!));
  const identical = ownColumns.map((column) => prompts.filter((prompt) => prompt === prompts[column]).length);
  return {
    token: informationOf(perToken, ownColumns, eps),
    sequence: informationOf(sums, ownColumns, eps),
    bound: Math.log(prompts.length),
    retrieval: ks.map((k) => ({
      k,
      accuracy: mean(perToken.map((row, i) => hit(row, ownColumns[i]!, prompts, k))),
      chance: mean(identical.map((count) => Math.min(1, (k * count) / prompts.length))),
    })),
  };
};
