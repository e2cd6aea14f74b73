/**
 * A finished episode as a line of JSON in OpenAI's message form: `custom_id`, `messages`, `metadata` as RAGEN names them, and `turns` with what is
 * needed to compute every metric again. Invariant: `read` of what `write` gives is the same episode.
 */
import { Option, Schema } from "effect";
import { AgentCallSchema } from "../../domain/AgentCall.ts";
import { episodeInfo } from "../../domain/Info.ts";
import {
  actionsOf,
  type EvaluatedEpisode,
  type EvaluatedSummary,
  type EvaluatedTurn,
  penaltyOf,
  rewardOf,
} from "./EvaluatedEpisode.ts";

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0));
const CountOrNone = Schema.NullOr(Count);

const Messages = Schema.Array(
  Schema.Struct({ role: Schema.Literals(["system", "user", "assistant"]), content: Schema.String }),
);

const replied = {
  finish: Schema.Literals(["stop", "length", "filtered"]),
  prompt_tokens: CountOrNone,
  tokens: CountOrNone,
  entropy: Schema.NullOr(Schema.Finite),
};

const Penalty = Schema.optionalKey(Schema.Finite);

const TurnLine = Schema.Struct({
  actions: Schema.Array(Schema.String),
  executed: Count,
  reward: Schema.Finite,
  penalty: Schema.Finite,
  penalties: Schema.optionalKey(
    Schema.Struct({
      format: Penalty,
      step: Penalty,
      thought_quality: Penalty,
      thought_length: Penalty,
      thought_coordinates: Penalty,
    }),
  ),
  parsed: Schema.Boolean,
  ...replied,
  info: Schema.Record(Schema.String, Schema.Finite),
  // Absent in folders that were begun before they were recorded.
  sequence: Schema.optionalKey(Count),
  state: Schema.optionalKey(Schema.String),
  shown: Schema.optionalKey(Messages),
  call: Schema.optionalKey(AgentCallSchema),
});

const SummaryLine = Schema.Struct({ asked: Schema.String, text: Schema.String, sequence: Count, ...replied });

/** `done` is a regular end; every other name says why the episode was cut. */
const OutcomeName = Schema.Literals(["done", "environment", "max_actions", "max_turn", "context"]);

const Line = Schema.Struct({
  messages: Messages,
  metadata: Schema.Struct({
    group_id: Count,
    member: Count,
    tag: Schema.String,
    seed: Count,
    content_key: Schema.String,
    success: Schema.Boolean,
    outcome: OutcomeName,
    final_state: Schema.String,
  }),
  turns: Schema.Array(TurnLine),
  summaries: Schema.optionalKey(Schema.Array(SummaryLine)),
});

const decode = Schema.decodeUnknownOption(Line);

const turnLine = ({ promptTokens, ...turn }: EvaluatedTurn): typeof TurnLine.Type => ({
  ...turn,
  prompt_tokens: promptTokens,
});

const summaryLine = ({ promptTokens, ...summary }: EvaluatedSummary): typeof SummaryLine.Type => ({
  ...summary,
  prompt_tokens: promptTokens,
});

/** The environment's numbers of the episode as RAGEN spells metrics, `tag/name`. */
const metricsOf = ({ tag, turns }: EvaluatedEpisode): Readonly<Record<string, number>> => {
  const info = Object.entries(episodeInfo(turns.map((turn) => turn.info)));
  return Object.fromEntries(info.map(([name, value]) => [`${tag}/${name}`, value]));
};

/** The line's value. `groupSize` makes of group and member RAGEN's number of the environment. */
export const write = (episode: EvaluatedEpisode, groupSize: number) => {
  const { contentKey, final, group, member, messages, outcome, seed, summaries, tag, turns } = episode;
  const { success } = outcome;
  const metadata = {
    env_id: group * groupSize + member,
    group_id: group,
    member,
    tag,
    seed,
    content_key: contentKey,
    num_turns: turns.length,
    num_actions: actionsOf(episode),
    total_reward: rewardOf(episode),
    penalty: penaltyOf(episode),
    success,
    outcome: outcome._tag === "Done" ? "done" : outcome.reason,
    // One for each message of the assistant: what the reply earned.
    rewards: turns.map(({ reward }) => reward),
    final_state: final,
    ...metricsOf(episode),
  };
  return {
    custom_id: `${tag}-${seed}-${member}`,
    messages,
    metadata,
    turns: turns.map(turnLine),
    ...(summaries.length === 0 ? {} : { summaries: summaries.map(summaryLine) }),
  };
};

/** The episode of a line; null where the line is none. */
export const read = (line: string): EvaluatedEpisode | null => {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  const decoded = decode(value);
  if (Option.isNone(decoded)) return null;
  const { messages, metadata, summaries = [], turns } = decoded.value;
  const { content_key, final_state, group_id, member, outcome, seed, success, tag } = metadata;
  return {
    group: group_id,
    member,
    tag,
    seed,
    contentKey: content_key,
    outcome: outcome === "done" ? { _tag: "Done", success } : { _tag: "Truncated", reason: outcome, success },
    messages,
    turns: turns.map(({ prompt_tokens, sequence = 0, state = "", ...turn }) => ({
      ...turn,
      sequence,
      state,
      promptTokens: prompt_tokens,
    })),
    summaries: summaries.map(({ prompt_tokens, ...summary }) => ({ ...summary, promptTokens: prompt_tokens })),
    final: final_state,
  };
};
