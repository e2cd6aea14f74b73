/**
 * Reads a line of trajectories.jsonl. Invariant: an accepted record has every field that shows an episode, of the right type; a
 * damaged line is not read at all.
 */
import { Schema } from "effect";
import { AgentCallSchema } from "../../domain/AgentCall.ts";
import type { EpisodeRecord } from "../../domain/EpisodeRecord.ts";

const Numbers = Schema.Array(Schema.Finite);
const Texts = Schema.Array(Schema.String);
const Messages = Schema.Array(Schema.Struct({ role: Schema.String, content: Schema.String }));

const Turn = Schema.Struct({
  prompt_ids: Numbers,
  ids: Numbers,
  pieces: Texts,
  mu: Numbers,
  entropies: Numbers,
  versions: Numbers,
  advantages: Schema.optionalKey(Numbers),
  values: Schema.optionalKey(Numbers),
  prompt: Schema.optionalKey(Messages),
  finish: Schema.String,
  parsed: Schema.Boolean,
  thought: Schema.optionalKey(Schema.Tuple([Schema.Finite, Schema.Finite])),
  actions: Texts,
  executed: Schema.Finite,
  reward: Schema.Finite,
  penalty: Schema.Finite,
  penalties: Schema.optionalKey(Schema.Record(Schema.String, Schema.Finite)),
  info: Schema.Record(Schema.String, Schema.Finite),
  call: Schema.optionalKey(AgentCallSchema),
});

const Outcome = Schema.Union([
  Schema.Struct({ _tag: Schema.Literal("Done"), success: Schema.Boolean }),
  Schema.Struct({ _tag: Schema.Literal("Truncated"), reason: Schema.String, success: Schema.Boolean }),
  Schema.Struct({ _tag: Schema.Literal("Failed"), reason: Schema.String, message: Schema.String }),
]);

const RecordLine = Schema.Struct({
  step: Schema.Finite,
  split: Schema.Literals(["train", "val"]),
  group: Schema.Finite,
  member: Schema.Finite,
  sequence: Schema.Finite,
  summary: Schema.optionalKey(Schema.Boolean),
  discarded: Schema.optionalKey(Schema.Boolean),
  tag: Schema.String,
  seed: Schema.Finite,
  success: Schema.Boolean,
  reward: Schema.Finite,
  penalty: Schema.Finite,
  outcome: Outcome,
  verdict: Schema.optionalKey(Schema.String),
  groupScore: Schema.optionalKey(Schema.Finite),
  score: Schema.optionalKey(Schema.Finite),
  messages: Messages,
  turns: Schema.Array(Turn),
  final: Schema.optionalKey(Schema.String),
});

const hasShape = Schema.is(RecordLine);

const isRecord = (value: unknown): value is EpisodeRecord => hasShape(value);

/** Null if the line is no whole record. */
export const readRecord = (line: string): EpisodeRecord | null => {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
};
