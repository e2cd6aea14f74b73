/** The generator: slots and sampling. */
import { Schema } from "effect";
import { concurrency, field, fraction, temperature, tokens, whole } from "../field.ts";

export const GenerationSection = Schema.Struct({
  slots: field(concurrency, 128, "Sequences with a key-value cache at once, per generator thread."),
  temperature: field(temperature, 1, "Sampling temperature of training."),
  top_k: field(whole(-1, 10_000_000), -1, "Keep the k likeliest tokens; -1 all."),
  top_p: field(fraction, 1, "Keep the smallest set of tokens with this mass."),
  allow_truncated_sampling: field(
    Schema.Boolean,
    false,
    "Allow top_k, and top_p below 1, in training although they bias the importance weights.",
  ),
  stop: field(
    Schema.Array(Schema.NonEmptyString),
    ["</answer>"],
    "Stop sequences, matched on decoded bytes, kept in the reply.",
  ),
  kv_on_update: field(
    Schema.Literals(["keep", "recompute"]),
    "keep",
    "What to do with key-value caches of older weights: keep or recompute.",
  ),
  prefill_tokens: field(tokens, 2048, "Most prompt tokens fed in one step."),
});
