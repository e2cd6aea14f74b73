/**
 * Reads the conversations that `sft.conversations` names: those to clone, those to measure the loss on, and sentences on what was cut or left
 * out. Which side a conversation is on depends on its content alone.
 */
import { Effect, Result, Schema } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import type { Episode } from "../src/domain/Episode.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { contentShare } from "../src/env/games/dataset/contentShare.ts";
import { readRows } from "../src/env/games/dataset/readRows.ts";
import type { RowForm } from "../src/env/games/dataset/Source.ts";
import type * as Model from "../src/model/Model.ts";
import { type Conversation, conversationOf, type Encoder, encode } from "../src/tools/cloning/Conversation.ts";

/** A conversation, and what tells on which side of the split it is. */
interface SplitConversation {
  readonly conversation: Conversation;
  readonly key: string;
}

interface Fields {
  readonly messages: unknown;
}

/** A list, or the JSON text of one, as some parquet files have it. */
const parsed = (messages: unknown): unknown => {
  if (typeof messages !== "string") return messages;
  try {
    return JSON.parse(messages);
  } catch {
    return null;
  }
};

const keyOf = ({ messages }: Fields): string => JSON.stringify(parsed(messages)) ?? "";

const form: RowForm<Fields, SplitConversation> = {
  schema: Schema.Struct({ messages: Schema.Unknown }),
  row: (fields) =>
    Result.map(conversationOf(parsed(fields.messages)), (conversation) => ({ conversation, key: keyOf(fields) })),
  key: keyOf,
};

/** The rows of both sides. A share of a file with few rows may be none, and that is no problem here. */
const rowsOf = async ({ messages_key, val_share, ...files }: RunConfig["sft"]["conversations"]) => {
  const columns = { messages: { name: messages_key, required: true } };
  const rows = await readRows({ files: { ...files, val_share: 0 }, columns, form });
  if (files.val_path !== "") return rows;
  const { false: train = [], true: val = [] } = Object.groupBy(rows.train, ({ key }) =>
    contentShare(key) < val_share ? "true" : "false",
  );
  return { train, val, skipped: rows.skipped };
};

export interface Conversations {
  readonly training: readonly Episode[];
  readonly heldOut: readonly Episode[];
  /** For the user, one line each. */
  readonly sentences: readonly string[];
}

const none: Conversations = { training: [], heldOut: [], sentences: [] };

/** Fails with BadInput where the file cannot be read, or nothing of it can be cloned. */
export const conversations = Effect.fnUntraced(function* (config: RunConfig, model: Model.Model) {
  const { path, too_long } = config.sft.conversations;
  if (path === "") return none;
  const bad = (problem: string) => new BadInput({ message: `sft.conversations.path: ${problem}` });
  const rows = yield* Effect.tryPromise({
    try: () => rowsOf(config.sft.conversations),
    catch: (cause) => bad(cause instanceof Error ? cause.message : String(cause)),
  });
  const limit = config.rollout.max_model_len;
  const encoder: Encoder = { chat: model.chat, limit };
  let cut = 0;
  let tooLong = 0;
  const encoded = ({ conversation }: SplitConversation, index: number): readonly Episode[] => {
    const { cut: missing, episode } = encode(encoder, conversation, index);
    if (episode === null || (missing > 0 && too_long === "leave_out")) {
      tooLong++;
      return [];
    }
    if (missing > 0) cut++;
    return [episode];
  };
  const training = rows.train.flatMap(encoded);
  const heldOut = rows.val.flatMap(encoded);
  const context = `rollout.max_model_len (${limit})`;
  if (training.length === 0) return yield* bad(`${path}: no conversation fits ${context}`);
  const sentences = [
    `${training.length} conversations of ${path}, ${heldOut.length} held out`,
    ...(cut > 0 ? [`${cut} conversations are cut to the turns that fit ${context}`] : []),
    ...(tooLong > 0 ? [`${tooLong} conversations are left out: they outgrow ${context}`] : []),
    ...rows.skipped
      .filter(({ count }) => count > 0)
      .map(({ count, examples, file, rows }) => {
        const more = count > examples.length ? "; …" : "";
        return `${file}: ${count} of ${rows} rows cannot be used and are left out: ${examples.join("; ")}${more}`;
      }),
  ];
  const found: Conversations = { training, heldOut, sentences };
  return found;
});
