/** The section `es_manager`: the environments of training and validation, and penalties per turn. */
import { Schema } from "effect";
import {
  aboveZero,
  concurrency,
  count,
  episodes,
  field,
  fraction,
  maxListLength,
  nonNegative,
  reward,
  section,
  temperature,
  whole,
} from "../field.ts";

export const SamplerSection = Schema.Struct({
  by: field(
    Schema.Literals(["uniform", "difficulty"]),
    "uniform",
    "Choice of the level that a group plays: each as often, or those more often whose groups are expected to have successes and failures.",
  ),
  forget: field(
    fraction,
    0.9,
    "Factor by which the counts of successes, failures and tokens shrink with every window; 1 forgets nothing.",
  ),
  epsilon: field(fraction, 0.05, "Weight of a level whose groups are expected to be all successes or all failures."),
  floor: field(
    aboveZero(1),
    0.1,
    "Share of the groups that is spread evenly over the levels, so that each of them goes on being played.",
  ),
  cost: field(
    Schema.Literals(["tokens", "none"]),
    "tokens",
    "Divisor of a level's weight: the tokens of its episodes, or none.",
  ),
});

export const GroupsSection = Schema.Struct({
  env_groups: field(concurrency, 8, "Groups per window of training (P)."),
  group_size: field(whole(1, 4_096), 16, "Episodes per group, all of one instance (G)."),
  tags: field(
    Schema.NonEmptyArray(Schema.String).check(Schema.isMaxLength(maxListLength)),
    ["CoordSokoban"],
    "Environment presets of training, by tag.",
  ),
  n_groups: field(
    Schema.NonEmptyArray(episodes).check(Schema.isMaxLength(maxListLength)),
    [8],
    "Groups of each tag; their sum is env_groups.",
  ),
  seed: field(count, 10_000, "Seed of the first training instance."),
  sampler: section(SamplerSection, "Task sampler: the choice among the levels of a preset."),
});

export const ValidationSection = Schema.Struct({
  env_groups: field(episodes, 512, "Validation instances."),
  group_size: field(whole(1, 4_096), 1, "Episodes per validation instance."),
  tags: field(
    Schema.NonEmptyArray(Schema.String).check(Schema.isMaxLength(maxListLength)),
    ["CoordSokoban"],
    "Environment presets of validation, by tag.",
  ),
  n_groups: field(
    Schema.NonEmptyArray(episodes).check(Schema.isMaxLength(maxListLength)),
    [512],
    "Validation instances of each tag; their sum is env_groups.",
  ),
  seed: field(count, 123, "Seed of the first validation instance; every validation plays the same instances."),
  temperature: field(temperature, 0.5, "Sampling temperature of validation; 0 is greedy."),
});

export const ManagerSection = Schema.Struct({
  format_penalty: field(reward, -0.1, "Reward added once to a turn with an unreadable reply or an illegal action."),
  step_penalty: field(nonNegative, 0, "Penalty of every executed action."),
  think_quality_penalty: field(nonNegative, 0, "Penalty of a turn whose thought has fewer than 10 characters."),
  think_len_penalty: field(
    nonNegative,
    0,
    "Penalty of a thought beyond think_len_limit, times its relative excess over that limit.",
  ),
  think_len_limit: field(
    whole(-1, 1_000_000_000),
    -1,
    "Longest thought without think_len_penalty, in characters; -1 no limit.",
  ),
  think_coord_fmt_penalty: field(
    nonNegative,
    0,
    "Penalty of a turn whose thought is missing or does not begin with Player: (row, col).",
  ),
  train: section(GroupsSection, "Groups of training."),
  val: section(ValidationSection, "Groups of validation."),
});
