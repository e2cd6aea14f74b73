/** `env_config` of Lean; keys and defaults are RAGEN's where it has them. The data is ours, and any file with minif2f's columns will do. */
import { Schema } from "effect";
import { field, reward, section, steps, whole } from "../../../config/field.ts";
import { dataFiles } from "../dataset/DataFiles.ts";
import { renderMode } from "../GridText.ts";
import { instances } from "../instances.ts";

const Url = Schema.String.check(
  Schema.makeFilter((text) => /^https?:\/\/[^/]/.test(text) && URL.canParse(text), { expected: "an http address" }),
);
/** Seconds of a request, of which `fetch` allows 300 at most. */
const seconds = Schema.Finite.check(Schema.isBetween({ minimum: 0.001, maximum: 300 }));
const wait = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 60 }));

const ColumnsSection = Schema.Struct({
  name: field(
    Schema.NonEmptyString,
    "name",
    "Column of the name; where it is missing, id and then the theorem's own name.",
  ),
  formal: field(Schema.NonEmptyString, "formal_statement", "Column of the statement in Lean; its imports may precede."),
  informal: field(Schema.NonEmptyString, "natural_language_statement", "Column of the statement in words."),
  header: field(Schema.NonEmptyString, "header", "Column of imports and openings, where they are kept apart."),
});

const keys = Schema.Struct({
  ...dataFiles("config/data/lean/elementary.jsonl", 0.2),
  columns: section(ColumnsSection, "Names of the data file's columns."),
  instances,
  server_url: field(Url, "http://127.0.0.1:8000", "Address of the Kimina Lean server."),
  protocol: field(
    Schema.Literals(["check", "verify"]),
    "check",
    "Protocol of the Lean server: POST /api/check, or POST /verify for servers before 2.0.",
  ),
  api_key: field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "API key of the Lean server; null takes the environment variable LEAN_SERVER_API_KEY, if it is set.",
  ),
  request_timeout: field(seconds, 30, "Seconds that the server may check one proof, rounded up to whole seconds."),
  http_timeout: field(seconds, 60, "Seconds that one request may take, including the wait for a free Lean process."),
  max_retries: field(whole(1, 100), 3, "Attempts at a request before its episode fails."),
  retry_wait: field(wait, 1, "Seconds before the second attempt, doubled for each further one."),
  in_flight: field(whole(1, 4_096), 32, "Proofs being checked at once."),
  max_steps: field(steps, 100, "Tactics after which the environment itself cuts the episode."),
  step_penalty: field(reward, -0.1, "Reward of every tactic."),
  valid_step_reward: field(reward, 1, "Reward added for an accepted tactic."),
  invalid_step_reward: field(reward, -1, "Reward added for a rejected tactic."),
  success_reward: field(reward, 10, "Reward added when the proof is complete."),
  timeout_penalty: field(reward, -1, "Reward added when Lean takes longer than request_timeout."),
  max_steps_penalty: field(reward, -2, "Reward added when max_steps is reached without a proof."),
  default_imports: field(
    Schema.String,
    "import Mathlib\nimport Aesop\nset_option maxHeartbeats 0\nopen BigOperators Real Nat Topology Rat",
    "Lines that precede a statement without imports of its own.",
  ),
  message_truncate_limit: field(whole(0, 1_000_000), 0, "Characters shown of one message of Lean; 0 shows all."),
  render_mode: renderMode,
});

export const LeanConfig = keys.check(
  Schema.makeFilter(({ http_timeout, request_timeout }) =>
    request_timeout > http_timeout
      ? `request_timeout ${request_timeout} is longer than http_timeout ${http_timeout}: a slow proof would pass for a silent server`
      : undefined,
  ),
);
export type LeanConfig = typeof LeanConfig.Type;
