/** Behaviour cloning: what is cloned, and for how long. */
import { Schema } from "effect";
import {
  between,
  concurrency,
  count,
  episodes,
  field,
  fraction,
  learningRate,
  path,
  section,
  steps,
  stepsOrNone,
  tokens,
  whole,
} from "../field.ts";

export const ConversationsSection = Schema.Struct({
  path: field(
    Schema.String,
    "",
    "Data file of conversations: .jsonl, .json (one array) or .parquet, a row each, with messages as OpenAI has them; empty for none.",
  ),
  val_path: field(Schema.String, "", "Data file of those to measure the loss on; empty takes val_share of path."),
  val_share: field(
    between(0, 0.9),
    0.05,
    "Share of path that is measured and not cloned, by a hash of each row's content.",
  ),
  max_rows: field(count, 0, "Rows read from the start of path; 0 all."),
  messages_key: field(Schema.NonEmptyString, "messages", "Column of the messages."),
  too_long: field(
    Schema.Literals(["cut", "leave_out"]),
    "cut",
    "Of a conversation that outgrows rollout.max_model_len, clone the turns that fit, or leave it out.",
  ),
  val_freq: field(stepsOrNone, 100, "Measure the loss every so many steps; 0 only at the end."),
});

export const SftSection = Schema.Struct({
  sources: field(
    Schema.Array(
      Schema.Struct({
        tag: Schema.NonEmptyString,
        player: field(
          Schema.Literals(["solver", "random"]),
          "solver",
          "Who plays: the solver (an adviser where there is none), or random legal actions.",
        ),
        episodes: field(episodes, 4096, "Episodes of this source."),
        mistakes: field(
          fraction,
          0,
          "Share of turns played at random and cloned too, so that something is left to learn.",
        ),
      }),
    ),
    [{ tag: "SimpleSokoban" }],
    "The demonstrations to clone, all mixed; [] for none.",
  ),
  conversations: section(ConversationsSection, "Conversations of your own to clone, mixed with the demonstrations."),
  steps: field(steps, 500, "Optimiser steps."),
  batch_size: field(concurrency, 64, "Episodes per step."),
  lr: field(learningRate, 1e-3, "Peak learning rate."),
  lr_warmup_steps: field(stepsOrNone, 20, "Updates of linear warm-up."),
  noise: field(
    fraction,
    0,
    "Share of turns played at random and not cloned, so that the turns after them start from more states.",
  ),
  save_freq: field(stepsOrNone, 100, "Checkpoint every so many steps; 0 only at the end, or when stopped."),
  output: field(path, "runs/sft", "Folder of the resulting checkpoint."),
  init: field(path, "random", "`random`, or a checkpoint folder to go on from."),
  architecture: section(
    Schema.Struct({
      hidden_size: field(whole(1, 16_384), 128, "Width."),
      intermediate_size: field(whole(1, 65_536), 384, "MLP width."),
      layers: field(whole(1, 1_024), 4, "Decoder layers."),
      heads: field(whole(1, 256), 4, "Query heads."),
      kv_heads: field(whole(1, 256), 2, "Key-value heads."),
      max_positions: field(tokens, 1024, "Longest context."),
    }),
    "Shape of a model started at random.",
  ),
});
