/** The section `sft`: behaviour cloning of demonstrations and conversations. */
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
    "Data file of conversations (.jsonl, .json with one array, or .parquet), one per row with OpenAI messages; empty for none.",
  ),
  val_path: field(
    Schema.String,
    "",
    "Data file of conversations to measure the loss on; empty takes val_share of path.",
  ),
  val_share: field(
    between(0, 0.9),
    0.05,
    "Share of path that is held out to measure the loss, chosen by a hash of each row.",
  ),
  max_rows: field(count, 0, "Most rows read from the start of sft.conversations.path; 0 all."),
  messages_key: field(Schema.NonEmptyString, "messages", "Column of the data file that holds the messages."),
  tools_key: field(
    Schema.NonEmptyString,
    "tools",
    "Column of the data file that holds the tools of a conversation, as OpenAI has them; rows may lack it.",
  ),
  too_long: field(
    Schema.Literals(["cut", "leave_out"]),
    "cut",
    "If a conversation outgrows rollout.max_model_len, clone the turns that fit, or leave it out.",
  ),
  val_freq: field(
    stepsOrNone,
    100,
    "Measure the loss on held-out conversations every so many steps; 0 only at the end.",
  ),
});

export const SftSection = Schema.Struct({
  sources: field(
    Schema.Array(
      Schema.Struct({
        tag: Schema.NonEmptyString,
        player: field(
          Schema.Literals(["solver", "random"]),
          "solver",
          "Player of the demonstrations: the environment's solver (or its adviser, or a search of its steps), or random legal actions.",
        ),
        episodes: field(episodes, 4096, "Number of demonstrations from this source."),
        mistakes: field(
          fraction,
          0,
          "Share of turns that are random and cloned as well, which leaves something to learn.",
        ),
      }),
    ),
    [{ tag: "SimpleSokoban" }],
    "The demonstrations to clone, all mixed; [] for none.",
  ),
  conversations: section(ConversationsSection, "Conversations of your own to clone, mixed with the demonstrations."),
  steps: field(steps, 500, "Optimiser steps of cloning."),
  batch_size: field(concurrency, 64, "Episodes per optimiser step of cloning."),
  lr: field(learningRate, 1e-3, "Peak learning rate of cloning."),
  lr_warmup_steps: field(stepsOrNone, 20, "Optimiser steps over which the learning rate rises linearly from 0."),
  noise: field(fraction, 0, "Share of turns that are random and not cloned, so that later turns see more states."),
  save_freq: field(stepsOrNone, 100, "Write a checkpoint every so many steps; 0 only at the end or on a stop."),
  output: field(path, "runs/sft", "Folder of the resulting checkpoint."),
  init: field(path, "random", "Starting weights: `random`, or a checkpoint folder."),
  architecture: section(
    Schema.Struct({
      hidden_size: field(whole(1, 16_384), 128, "Width of the hidden states."),
      intermediate_size: field(whole(1, 65_536), 384, "Width of the MLP."),
      layers: field(whole(1, 1_024), 4, "Number of decoder layers."),
      heads: field(whole(1, 256), 4, "Number of query heads."),
      kv_heads: field(whole(1, 256), 2, "Number of key-value heads; divides heads."),
      max_positions: field(tokens, 1024, "Longest context of the model, in tokens."),
    }),
    "Sizes of a model that starts from random weights.",
  ),
});
