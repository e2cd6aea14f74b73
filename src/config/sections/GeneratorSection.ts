/** The section `model.generator`: threads of this process, or generation servers over HTTP (docs/remote.md), sample the policy. */
import { Schema } from "effect";
import {
  aboveZero,
  field,
  maxListLength,
  milliseconds,
  nonNegative,
  optionalPath,
  tokens,
  url,
  whole,
} from "../field.ts";

export const GeneratorSection = Schema.Struct({
  engine: field(
    Schema.Literals(["local", "vllm", "sglang", "tinker"]),
    "local",
    "Generator: local, threads of this process; vllm or sglang, servers of that kind; tinker, the server of model.learner.",
  ),
  urls: field(
    Schema.Array(url).check(Schema.isMaxLength(maxListLength)),
    [],
    "Addresses of the generation servers, as http://name:port; all serve the same model.",
  ),
  model: field(Schema.String, "", "Model's name at the generation servers; empty if they serve only one."),
  concurrency: field(
    whole(0, 65_536),
    0,
    "Concurrent requests per generation server; 0 is the number that the server reports, or else 64.",
  ),
  request_timeout_ms: field(
    // Node's fetch gives up on a silent server after 300 s.
    whole(1, 300_000),
    300_000,
    "Time after which a request is cancelled and sent again, to another server if there is one.",
  ),
  request_tokens: field(tokens, 2_048, "Most tokens of one request; longer replies take several."),
  api_key_env: field(Schema.String, "", "Environment variable with the generation servers' key; empty sends none."),
  weights_dir: field(
    optionalPath,
    "",
    "Folder of weight versions, which this process writes and the servers read; empty is inside the run's folder.",
  ),
  down_deadline_ms: field(
    milliseconds,
    600_000,
    "Time that a run waits while no generation server answers; then it ends, and --resume continues it.",
  ),
  probe_tolerance: field(
    aboveZero(100),
    0.05,
    "Largest mean difference at the start between a server's log-probabilities of a fixed text and our own, in nats.",
  ),
  price_in: field(nonNegative, 0, "Price of a million prompt tokens, in US dollars."),
  price_out: field(nonNegative, 0, "Price of a million sampled tokens, in US dollars."),
});
