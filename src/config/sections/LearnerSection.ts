/** Where the policy is trained: in this process, or on a server that speaks the Tinker API. */
import { Schema } from "effect";
import { tinkerServers } from "../../domain/TinkerServer.ts";
import { field, milliseconds, nonNegative, optionalUrl, section, tokens, whole } from "../field.ts";

/** What a server is asked to train. */
const RemoteLoraSection = Schema.Struct({
  rank: field(whole(0, 4_096), 32, "Rank of the adapter that the server trains; 0 all weights, where a server can."),
  seed: field(whole(0, 2 ** 31 - 1), 0, "Seed of the adapter's first weights."),
  train_mlp: field(Schema.Boolean, true, "Whether the MLP's layers have an adapter."),
  train_attn: field(Schema.Boolean, true, "Whether the attention's layers have one."),
  train_unembed: field(Schema.Boolean, false, "Whether the output matrix has one."),
});

const price = (of: string) => field(nonNegative, 0, `US dollars of a million ${of}; 0 tells no cost.`);

export const LearnerSection = Schema.Struct({
  engine: field(
    Schema.Literals(["local", "tinker"]),
    "local",
    "What trains the policy: this process, or a server with the Tinker API (docs/remote.md).",
  ),
  url: field(optionalUrl, "", "Address of the training server before /api/v1, as http://127.0.0.1:8000."),
  server: field(
    Schema.Literals(["auto", ...tinkerServers]),
    "auto",
    "Which server it is, by the names of docs/remote.md; auto asks it.",
  ),
  base_model: field(
    Schema.String,
    "",
    "The model's name at the server; empty, the folder of model.path as an absolute path.",
  ),
  lora: section(RemoteLoraSection, "The adapter that the server trains."),
  reduction: field(
    Schema.Literals(["auto", "sum", "mean"]),
    "auto",
    "How the server makes one number of token losses: their sum, or the mean over a sequence's tokens and over sequences; auto, as that server does.",
  ),
  sessions: field(
    Schema.Literals(["auto", "newest", "snapshots"]),
    "auto",
    "Whether the server samples from older weights without harm (snapshots), or from the newest alone; auto, as that server does.",
  ),
  body: field(
    Schema.Literals(["auto", "json", "protobuf"]),
    "auto",
    "Format of the requests and answers that hold tensors; auto, the one that the server takes.",
  ),
  api_key_env: field(
    Schema.String,
    "TINKER_API_KEY",
    "Environment variable with the server's key; where it is not set no key is sent.",
  ),
  request_tokens: field(tokens, 131_072, "Tokens of one request at most; more are sent as several."),
  poll_timeout_ms: field(whole(1_000, 300_000), 45_000, "How long one question for a result waits."),
  outage_ms: field(
    milliseconds,
    600_000,
    "How long a server that does not answer is asked again before the run fails.",
  ),
  price_prefill: price("prompt tokens that are sampled from"),
  price_sample: price("sampled tokens"),
  price_train: price("trained tokens"),
});
