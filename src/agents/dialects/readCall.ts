/** Reads a call in the way that all dialects have in common; a dialect gives the readers of its own forms. */
import { Result } from "effect";
import type { Message, Tool, ToolChoice } from "../../domain/Conversation.ts";
import { isJsonObject, type JsonObject } from "../../support/json.ts";
import type { ModelCall } from "./Dialect.ts";
import {
  isAbsent,
  type Read,
  type Reader,
  readBody,
  readEach,
  readFlagOrFalse,
  readName,
  readObject,
  readOr,
  refuse,
} from "./fields.ts";
import { policyModel } from "./models.ts";
import { checkChoice } from "./tools.ts";
import { readWishes } from "./wishes.ts";

/** The fields in which dialects differ. */
interface DialectFields {
  readonly messages: readonly Message[];
  readonly hasInstructions?: boolean;
  readonly previous?: string | null;
  /** Tools of the earlier call that this one goes on with, where it offers none of its own. */
  readonly tools?: readonly Tool[];
}

export interface CallReaders {
  /** Fields, by their paths, for features that are not served, each with what a client can do. Values that ask for nothing pass. */
  readonly unserved: Readonly<Record<string, string>>;
  /** The field of the messages, named if there are none. */
  readonly messagesField: string;
  readonly fields: (body: JsonObject) => Read<DialectFields>;
  readonly tool: Reader<Tool>;
  readonly toolChoice: Reader<ToolChoice>;
}

/** True for values by which clients leave a feature out, and for the form of plain text. */
const asksNothing = (value: unknown): boolean =>
  isAbsent(value) ||
  value === false ||
  (Array.isArray(value) && value.length === 0) ||
  (isJsonObject(value) && value.type === "text");

const valueAt = (body: JsonObject, path: string): unknown =>
  path.split(".").reduce<unknown>((value, name) => (isJsonObject(value) ? value[name] : undefined), body);

const checkServed = (body: JsonObject, unserved: Readonly<Record<string, string>>): Read<null> => {
  for (const [field, advice] of Object.entries(unserved)) {
    if (!asksNothing(valueAt(body, field))) return refuse(field, `is not served; ${advice}`);
  }
  if (!isAbsent(body.n) && body.n !== 1) {
    return refuse("n", "must be 1, since a call has one reply; ask again for another sample");
  }
  return Result.succeed(null);
};

export const readCall = (value: unknown, readers: CallReaders): Read<ModelCall> =>
  Result.gen(function* () {
    const body = yield* readBody(value);
    yield* checkServed(body, readers.unserved);
    const { hasInstructions = false, messages, previous = null, tools: earlier } = yield* readers.fields(body);
    if (messages.length === 0 && previous === null) yield* refuse(readers.messagesField, "must have a message");
    const offered = isAbsent(body.tools) ? [] : body.tools;
    const tools = earlier ?? (yield* readEach(offered, "tools", readers.tool));
    const choice = yield* readers.toolChoice(body.tool_choice, "tool_choice");
    const streaming: JsonObject = yield* readOr(body.stream_options, "stream_options", readObject, {});
    return {
      conversation: { tools, messages },
      hasInstructions,
      toolChoice: yield* checkChoice(choice, tools),
      wishes: yield* readWishes(body),
      isStreamed: yield* readFlagOrFalse(body.stream, "stream"),
      isUsageStreamed: yield* readFlagOrFalse(streaming.include_usage, "stream_options.include_usage"),
      model: yield* readOr(body.model, "model", readName, policyModel),
      previous,
    };
  });
