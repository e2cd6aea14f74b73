/** Checks of the filter's strategy and of refills. */
import { mostRefillNumbers, refillNumbers } from "../refillNumbers.ts";
import { type Check, problemIf } from "./Check.ts";

export const strategies: Check = ({ es_manager: { train }, filter }) => [
  ...problemIf(
    filter.percentile_low >= filter.percentile_high,
    () =>
      `filter.percentile_low: ${filter.percentile_low}: expected less than filter.percentile_high (${filter.percentile_high}); nearest: 0`,
  ),
  ...problemIf(
    filter.strategy === "within_group" && !filter.include_zero,
    () => "filter.include_zero: false: filter.strategy=within_group keeps every group; nearest: true",
  ),
  ...problemIf(
    filter.strategy === "within_group" && (filter.value <= 0 || filter.value > 1),
    () =>
      `filter.value: ${filter.value}: filter.strategy=within_group keeps this share of a group's episodes; nearest: 1`,
  ),
  ...problemIf(
    filter.strategy === "within_group" && Math.round(filter.value * train.group_size) < 2,
    () =>
      `filter.value: ${filter.value}: filter.strategy=within_group would keep one of the ${train.group_size} episodes of a group, which cannot vary; nearest: ${Math.min(1, 2 / train.group_size)}`,
  ),
];

export const refill: Check = ({ es_manager: { train }, filter: { refill, strategy, value } }) => {
  const line = (because: string, nearest: number) =>
    `filter.refill.target: ${refill.target}: ${because}; nearest: ${nearest}`;
  const most = Math.max(1, Math.floor(value));
  return [
    ...problemIf(refill.target > train.env_groups, () =>
      line(
        `a window has es_manager.train.env_groups (${train.env_groups}) groups before it asks for more`,
        train.env_groups,
      ),
    ),
    ...problemIf(strategy === "top_k_abs" && refill.target > most, () =>
      line(`filter.strategy=top_k_abs keeps at most ${most} groups, however many come`, most),
    ),
  ];
};

export const refillRounds: Check = (config) => {
  const { filter, trainer } = config;
  const numbers = refillNumbers(config)?.perWindow ?? 0;
  return problemIf(
    numbers > mostRefillNumbers(config),
    () =>
      `filter.refill.rounds: ${filter.refill.rounds}: the refills of each window have ${numbers} group numbers, too many for trainer.total_training_steps (${trainer.total_training_steps}) windows; nearest: 1, with a smaller filter.refill.batch`,
  );
};
