/** Where the policy generates: in threads of this process, or on generation servers that it asks over HTTP (docs/remote.md). */
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
    "Who generates: local, threads of this process; vllm or sglang, servers of that kind; tinker, the server of model.learner.",
  ),
  urls: field(
    Schema.Array(url).check(Schema.isMaxLength(maxListLength)),
    [],
    "Addresses of the servers, as http://name:port; each serves the same model.",
  ),
  model: field(Schema.String, "", "The model's name at the servers; empty is the only one that they serve."),
  concurrency: field(
    whole(0, 65_536),
    0,
    "Requests at once per server; 0 is what the server says that it takes, or 64 where it does not say.",
  ),
  request_timeout_ms: field(
    // Node's fetch gives up on a silent server after 300 s.
    whole(1, 300_000),
    300_000,
    "A request slower than this is asked again, of another server where there is one.",
  ),
  request_tokens: field(tokens, 2_048, "Tokens of one request at most; a longer reply is asked for in parts."),
  api_key_env: field(Schema.String, "", "Environment variable with the servers' key; empty sends none."),
  weights_dir: field(
    optionalPath,
    "",
    "Folder that this process writes each version of the weights to and the servers read; empty is inside the run's folder.",
  ),
  down_deadline_ms: field(
    milliseconds,
    600_000,
    "How long a run waits while no server answers; then it ends, and goes on with --resume.",
  ),
  probe_tolerance: field(
    aboveZero(100),
    0.05,
    "How far a server's log-probabilities of a fixed text may lie from our own at the start, on average, nats.",
  ),
  price_in: field(nonNegative, 0, "US dollars of a million prompt tokens."),
  price_out: field(nonNegative, 0, "US dollars of a million sampled tokens."),
});
