/** The section `generation`: the generator's slots and its sampling. */
import { Schema } from "effect";
import { concurrency, field, fraction, temperature, tokens, whole } from "../field.ts";

export const GenerationSection = Schema.Struct({
  slots: field(concurrency, 128, "Sequences with a key-value cache, per generator thread."),
  temperature: field(temperature, 1, "Sampling temperature of training."),
  top_k: field(whole(-1, 10_000_000), -1, "Sample from the k likeliest tokens; -1 all."),
  top_p: field(fraction, 1, "Sample from the smallest set of tokens with this probability mass."),
  allow_truncated_sampling: field(
    Schema.Boolean,
    false,
    "Allow top_k, and top_p below 1, in training; both bias the importance weights.",
  ),
  stop: field(
    Schema.Array(Schema.NonEmptyString),
    ["</answer>"],
    "Stop sequences, matched on decoded bytes; they stay in the reply.",
  ),
  kv_on_update: field(
    Schema.Literals(["keep", "recompute"]),
    "keep",
    "On new weights, keep the key-value caches of older ones, or recompute them.",
  ),
  prefill_tokens: field(tokens, 2048, "Most prompt tokens in one prefill step."),
});
