/**
 * Reads the conversations that `sft.conversations` names: those to clone, those to measure the loss on, and sentences on what was cut or left
 * out. Which side a conversation is on depends on its content alone.
 */
import { Effect, Result, Schema } from "effect";
import { readMessages, readTools } from "../src/agents/dialects/chat.ts";
import { agentReplyPrefix } from "../src/agents/session/agentReplyPrefix.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import type { Episode } from "../src/domain/Episode.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { contentShare } from "../src/env/games/dataset/contentShare.ts";
import { readRows } from "../src/env/games/dataset/readRows.ts";
import type { RowForm } from "../src/env/games/dataset/Source.ts";
import type * as Model from "../src/model/Model.ts";
import * as ConversationTemplate from "../src/model/tokenizer/conversation/ConversationTemplate.ts";
import { isJsonObject } from "../src/support/json.ts";
import {
  type Conversation,
  conversationOf,
  type Encoded,
  type Encoder,
  encode,
} from "../src/tools/cloning/Conversation.ts";
import {
  checkToolConversation,
  encodeToolConversation,
  type ToolConversation,
  type ToolEncoder,
} from "../src/tools/cloning/ToolConversation.ts";

/** A conversation, and what tells on which side of the split it is. */
interface SplitConversation {
  readonly conversation: Conversation | ToolConversation;
  readonly key: string;
  /** Names the row in sentences. */
  readonly place: string;
}

interface Fields {
  readonly messages: unknown;
  readonly tools?: unknown;
}

type Columns = Pick<RunConfig["sft"]["conversations"], "messages_key" | "tools_key">;

/** A list, or the JSON text of one, as some parquet files have it. A text that is no JSON stays a text. */
const parsed = (messages: unknown): unknown => {
  if (typeof messages !== "string") return messages;
  try {
    return JSON.parse(messages);
  } catch {
    return messages;
  }
};

const keyOf = ({ messages }: Fields): string => JSON.stringify(parsed(messages)) ?? "";

const isFilled = (list: unknown): boolean => Array.isArray(list) && list.length > 0;

/** True for a row that offers tools, calls one or has a result. Others are chats of a user and an assistant in turn. */
const usesTools = (messages: unknown, tools: unknown): boolean =>
  (tools !== null && tools !== undefined && !(Array.isArray(tools) && tools.length === 0)) ||
  (Array.isArray(messages) &&
    messages.some((message) => isJsonObject(message) && (message.role === "tool" || isFilled(message.tool_calls))));

/** Indices of the replies without OpenAI's `weight: 0`. */
const targetsIn = (messages: unknown): ReadonlySet<number> =>
  new Set(
    Array.isArray(messages)
      ? messages.flatMap((message, index) =>
          isJsonObject(message) && message.role === "assistant" && message.weight !== 0 ? [index] : [],
        )
      : [],
  );

/** Reads a conversation with tools, in the words of the chat completions that agents send. */
const toolConversationOf = (
  messages: unknown,
  tools: unknown,
  { messages_key, tools_key }: Columns,
): Result.Result<ToolConversation, string> => {
  const read = Result.all({ tools: readTools(tools, tools_key), messages: readMessages(messages, messages_key) });
  return Result.flatMap(
    Result.mapError(read, ({ message }) => message),
    (conversation) => checkToolConversation({ ...conversation, targets: targetsIn(messages) }, messages_key),
  );
};

const formOf = (columns: Columns): RowForm<Fields, SplitConversation> => ({
  schema: Schema.Struct({ messages: Schema.Unknown, tools: Schema.optionalKey(Schema.Unknown) }),
  row: (fields, place) => {
    const [messages, tools] = [parsed(fields.messages), parsed(fields.tools)];
    const conversation: Result.Result<Conversation | ToolConversation, string> = usesTools(messages, tools)
      ? toolConversationOf(messages, tools, columns)
      : conversationOf(messages);
    return Result.map(conversation, (read) => ({ conversation: read, key: keyOf(fields), place: place() }));
  },
  key: keyOf,
});

/** The rows of both sides. A share of a file with few rows may be none, and that is no problem here. */
const rowsOf = async (section: RunConfig["sft"]["conversations"]) => {
  const { val_share, ...files } = section;
  const columns = {
    messages: { name: section.messages_key, required: true },
    tools: { name: section.tools_key, required: false },
  };
  const rows = await readRows({ files: { ...files, val_share: 0 }, columns, form: formOf(section) });
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

const mostExamples = 3;

const examplesOf = (sentences: readonly string[]): string =>
  [...sentences.slice(0, mostExamples), ...(sentences.length > mostExamples ? ["…"] : [])].join("; ");

const none: Conversations = { training: [], heldOut: [], sentences: [] };

/**
 * Encodes conversations of both kinds. A failure is a sentence on what the model's template cannot write. A template without tools could write no
 * row that has them, so it is refused at the first.
 */
const encoderOf = Effect.fnUntraced(function* (
  config: RunConfig,
  model: Model.Model,
  rows: readonly SplitConversation[],
) {
  const limit = config.rollout.max_model_len;
  const template = yield* ConversationTemplate.make(model.tokenizer);
  const firstWithTools = rows.find(({ conversation }) => "tools" in conversation);
  if (firstWithTools !== undefined && template.toolsProblem !== undefined) {
    return yield* new BadInput({ message: `${firstWithTools.place}: ${template.toolsProblem}` });
  }
  const chatEncoder: Encoder = { chat: model.chat, limit };
  const toolEncoder: ToolEncoder = { template, replyPrefix: agentReplyPrefix(config, model.tokenizer), limit };
  return ({ conversation }: SplitConversation, index: number): Effect.Effect<Encoded, string> => {
    return "tools" in conversation
      ? encodeToolConversation(toolEncoder, conversation, index)
      : Effect.succeed(encode(chatEncoder, conversation, index));
  };
});

/** Fails with BadInput where the file cannot be read, or nothing of it can be cloned. */
export const conversations = Effect.fnUntraced(
  function* (config: RunConfig, model: Model.Model) {
    const { path, too_long } = config.sft.conversations;
    if (path === "") return none;
    const bad = (problem: string) => new BadInput({ message: `sft.conversations.path: ${problem}` });
    const rows = yield* Effect.tryPromise({
      try: () => rowsOf(config.sft.conversations),
      catch: (cause) => bad(cause instanceof Error ? cause.message : String(cause)),
    });
    const allRows = [...rows.train, ...rows.val];
    const encodeRow = yield* Effect.mapError(encoderOf(config, model, allRows), ({ message }) => bad(message));
    let cut = 0;
    let tooLong = 0;
    const unwritten: string[] = [];
    const encodeAll = Effect.fnUntraced(function* (split: readonly SplitConversation[]) {
      const episodes: Episode[] = [];
      for (const [index, row] of split.entries()) {
        const encoded = yield* Effect.result(encodeRow(row, index));
        if (Result.isFailure(encoded)) {
          unwritten.push(`${row.place}: ${encoded.failure}`);
          continue;
        }
        const { cut: missing, episode } = encoded.success;
        if (episode === null || (missing > 0 && too_long === "leave_out")) tooLong++;
        else {
          if (missing > 0) cut++;
          episodes.push(episode);
        }
      }
      return episodes;
    });
    const training = yield* encodeAll(rows.train);
    const heldOut = yield* encodeAll(rows.val);
    const context = `rollout.max_model_len (${config.rollout.max_model_len})`;
    if (training.length === 0) return yield* bad(unwritten[0] ?? `${path}: no conversation fits ${context}`);
    const sentences = [
      `${training.length} conversations of ${path}, ${heldOut.length} held out`,
      ...(cut > 0 ? [`${cut} conversations are cut to the turns that fit ${context}`] : []),
      ...(tooLong > 0 ? [`${tooLong} conversations are left out: they outgrow ${context}`] : []),
      ...(unwritten.length > 0
        ? [`${unwritten.length} conversations cannot be written and are left out: ${examplesOf(unwritten)}`]
        : []),
      ...rows.skipped
        .filter(({ count }) => count > 0)
        .map(({ count, examples, file, rows }) => {
          const more = count > examples.length ? "; …" : "";
          return `${file}: ${count} of ${rows} rows cannot be used and are left out: ${examples.join("; ")}${more}`;
        }),
    ];
    const found: Conversations = { training, heldOut, sentences };
    return found;
  },
  // The process of a folder's chat template ends with the reading.
  Effect.scoped,
);
