/**
 * An advantage estimator of your own: each turn is compared with the same turn of its group's other episodes, by the discounted reward from
 * there to the episode's end. `reward.use_turn_scores=true` gives it the rewards of the turns; algorithm.ts trains with it.
 */
import { defineEstimator, type EstimatorEpisode } from "millrace/learner";

const discount = 0.95;

/** Discounted reward from each turn to the end of the episode. */
const returnsOf = ({ turns }: EstimatorEpisode): readonly number[] => {
  const returns = turns.map(({ reward }) => reward);
  for (let turn = returns.length - 2; turn >= 0; turn--) returns[turn]! += discount * returns[turn + 1]!;
  return returns;
};

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

export default defineEstimator({
  estimate: (episodes) => {
    const withReturns = episodes.map((episode) => ({ group: episode.group, returns: returnsOf(episode) }));
    return withReturns.map(({ group, returns }) =>
      returns.map((value, turn) => {
        const others = withReturns.filter((other) => other.group === group && other.returns.length > turn);
        return value - mean(others.map((other) => other.returns[turn]!));
      }),
    );
  },
});
