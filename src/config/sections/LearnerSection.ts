/** The section `model.learner`: this process, or a server with the Tinker API, trains the policy. */
import { Schema } from "effect";
import { tinkerServers } from "../../domain/TinkerServer.ts";
import { field, milliseconds, nonNegative, optionalUrl, section, tokens, whole } from "../field.ts";

/** The adapter that a training server holds. */
const RemoteLoraSection = Schema.Struct({
  rank: field(
    whole(0, 4_096),
    32,
    "Rank of the adapter that the server trains; 0 trains all weights, if the server can.",
  ),
  seed: field(whole(0, 2 ** 31 - 1), 0, "Seed of the adapter's initial weights."),
  train_mlp: field(Schema.Boolean, true, "Adapt the MLP's layers."),
  train_attn: field(Schema.Boolean, true, "Adapt the attention's layers."),
  train_unembed: field(Schema.Boolean, false, "Adapt the output matrix."),
});

const price = (tokens: string) =>
  field(nonNegative, 0, `Price of a million ${tokens}, in US dollars; 0 reports no cost.`);

export const LearnerSection = Schema.Struct({
  engine: field(
    Schema.Literals(["local", "tinker"]),
    "local",
    "Learner: local, this process; tinker, a server with the Tinker API (docs/remote.md).",
  ),
  url: field(optionalUrl, "", "Address of the training server before /api/v1, as http://127.0.0.1:8000."),
  server: field(
    Schema.Literals(["auto", ...tinkerServers]),
    "auto",
    "Kind of training server, by its name in docs/remote.md; auto asks the server.",
  ),
  base_model: field(
    Schema.String,
    "",
    "Model's name at the training server; empty is the absolute path of model.path.",
  ),
  lora: section(RemoteLoraSection, "The adapter that the server trains."),
  reduction: field(
    Schema.Literals(["auto", "sum", "mean"]),
    "auto",
    "Server's reduction of token losses: their sum, or the mean over tokens and then sequences; auto is that of model.learner.server.",
  ),
  sessions: field(
    Schema.Literals(["auto", "newest", "snapshots"]),
    "auto",
    "Weights that the server can sample from: only the newest, or snapshots of older ones; auto is that of model.learner.server.",
  ),
  body: field(
    Schema.Literals(["auto", "json", "protobuf"]),
    "auto",
    "Format of requests and answers with tensors; auto is the one that the server takes.",
  ),
  api_key_env: field(
    Schema.String,
    "TINKER_API_KEY",
    "Environment variable with the training server's key; no key is sent if it is not set.",
  ),
  request_tokens: field(
    tokens,
    131_072,
    "Most tokens of one request to the training server; larger batches take several.",
  ),
  poll_timeout_ms: field(
    whole(1_000, 300_000),
    45_000,
    "Time that one request for a result waits at the training server.",
  ),
  outage_ms: field(milliseconds, 600_000, "Time that an unreachable training server is retried before the run fails."),
  price_prefill: price("prompt tokens that are sampled from"),
  price_sample: price("sampled tokens"),
  price_train: price("trained tokens"),
});
