/** Which environments are played, how many at once, and what turns take off their episode's reward. */
import { Schema } from "effect";
import {
  concurrency,
  count,
  episodes,
  field,
  maxListLength,
  nonNegative,
  reward,
  section,
  temperature,
  whole,
} from "../field.ts";

export const GroupsSection = Schema.Struct({
  env_groups: field(concurrency, 8, "Groups per window (P)."),
  group_size: field(whole(1, 4_096), 16, "Episodes per group, all of one seed (G)."),
  tags: field(
    Schema.NonEmptyArray(Schema.String).check(Schema.isMaxLength(maxListLength)),
    ["CoordSokoban"],
    "Environment presets.",
  ),
  n_groups: field(
    Schema.NonEmptyArray(episodes).check(Schema.isMaxLength(maxListLength)),
    [8],
    "Groups of each tag; sums to env_groups.",
  ),
  seed: field(count, 10_000, "First instance seed."),
});

export const ValidationSection = Schema.Struct({
  env_groups: field(episodes, 512, "Validation instances."),
  group_size: field(whole(1, 4_096), 1, "Episodes per validation instance."),
  tags: field(
    Schema.NonEmptyArray(Schema.String).check(Schema.isMaxLength(maxListLength)),
    ["CoordSokoban"],
    "Environment presets.",
  ),
  n_groups: field(
    Schema.NonEmptyArray(episodes).check(Schema.isMaxLength(maxListLength)),
    [512],
    "Instances of each tag; sums to env_groups.",
  ),
  seed: field(count, 123, "First instance seed; the same instances every time."),
  temperature: field(temperature, 0.5, "Sampling temperature of validation; 0 is greedy."),
});

export const ManagerSection = Schema.Struct({
  format_penalty: field(reward, -0.1, "Added once per turn with an unreadable reply or an illegal action."),
  step_penalty: field(nonNegative, 0, "Taken off for every action that is carried out."),
  think_quality_penalty: field(nonNegative, 0, "Taken off per turn whose thought has fewer than 10 characters."),
  think_len_penalty: field(
    nonNegative,
    0,
    "Taken off per turn for a thought longer than think_len_limit, times its excess over that limit as a share of it.",
  ),
  think_len_limit: field(whole(-1, 1_000_000_000), -1, "Characters of a thought that cost nothing; -1 no limit."),
  think_coord_fmt_penalty: field(
    nonNegative,
    0,
    "Taken off per turn whose thought does not begin with Player: (row, col), or is missing.",
  ),
  train: section(GroupsSection, "Training groups."),
  val: section(ValidationSection, "Validation groups."),
});
