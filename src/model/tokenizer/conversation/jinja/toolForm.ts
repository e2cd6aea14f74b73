/**
 * Finds out how a template writes tools: whether it does, in which form a reply calls one, and the text around them. It renders a chat with
 * one tool, a call and its result, and looks for their words.
 */
import { isDeepStrictEqual } from "node:util";
import { Effect, Option, Result } from "effect";
import type { Message, Tool } from "../../../../domain/Conversation.ts";
import type { JinjaTemplate } from "../../JinjaTemplate.ts";
import { quote } from "../../quote.ts";
import { callIn, readHermes } from "../calls/hermesCalls.ts";
import { readLlama } from "../calls/llamaCalls.ts";
import type { CallReader } from "../readReply.ts";
import { asItIs, messageRequest, toolRequests } from "./chatRequest.ts";
import { wordTool } from "./Words.ts";

/** The way in which a template writes tools. */
export type ToolForm =
  | { readonly problem: string; readonly structure: "" }
  | { readonly problem: undefined; readonly structure: string; readonly read: CallReader };

const words = { question: "qzquestionqz", argument: "qzargumentqz", value: "qzvalueqz", result: "qzresultqz" } as const;
const values = { [words.argument]: words.value };

const probe = (name: string): readonly Message[] => [
  { role: "user", text: words.question },
  { role: "assistant", text: "", calls: [{ id: "qzid", name, arguments: values }] },
  { role: "tool", call: "qzid", text: words.result },
];

/** The first JSON object in `text` that is a call under `key`. */
const objectIn = (text: string, key: "arguments" | "parameters"): boolean => {
  const start = text.indexOf("{");
  for (let end = text.indexOf("}", start); start >= 0 && end >= 0; end = text.indexOf("}", end + 1)) {
    const call = Option.getOrUndefined(callIn(text.slice(start, end + 1), key));
    if (call !== undefined) return call.name === wordTool.name && isDeepStrictEqual(call.arguments, values);
  }
  return false;
};

/** The reader of the form in which `written`, the text between a user's and a result's, has the call. */
const readerOf = (written: string): CallReader | undefined => {
  const [, inside] = /<tool_call>([\s\S]*)<\/tool_call>/.exec(written) ?? [];
  if (inside !== undefined) return objectIn(inside, "arguments") ? readHermes : undefined;
  return objectIn(written, "parameters") ? readLlama : undefined;
};

const missingWord = (text: string, needed: readonly string[]): boolean => needed.some((word) => !text.includes(word));

const offeredWords = [wordTool.name, wordTool.description, "qzparameterqz"];

/** Determines the form from the renderings with tools. */
const formFrom = (opening: string, whole: string, renamed: string, end: string): Result.Result<CallReader, string> => {
  if (missingWord(opening, offeredWords)) return Result.fail("it does not write the tools that are offered");
  const from = whole.lastIndexOf(words.question) + words.question.length;
  const to = whole.lastIndexOf(words.result);
  const written = whole.slice(from, Math.max(from, to));
  if (to < from || missingWord(written, Object.values(words).slice(1, 3))) {
    return Result.fail("it does not write tool calls and their results");
  }
  const behindCall = (text: string): string | undefined => {
    const at = text.indexOf(end, text.lastIndexOf(words.value));
    return at < 0 ? undefined : text.slice(at);
  };
  const behind = behindCall(whole);
  if (behind === undefined) return Result.fail(`it does not end a reply that calls tools with ${end}`);
  if (behind !== behindCall(renamed)) return Result.fail("it writes the name of a tool beside its result");
  const reader = readerOf(written);
  return reader === undefined
    ? Result.fail(`it writes tool calls in a form that is not read: ${quote(written)}`)
    : Result.succeed(reader);
};

/** The form of a template whose replies end with `end`. Never fails: what cannot be used is the problem. */
export const toolFormOf = (template: JinjaTemplate, end: string): Effect.Effect<ToolForm> =>
  Effect.gen(function* () {
    const tools: readonly Tool[] = [wordTool];
    const render = (messages: readonly Message[], thinking: boolean) =>
      template.render(
        messages.map((message) => messageRequest(message, asItIs)),
        thinking,
        toolRequests(tools, asItIs),
      );
    const opening = yield* render(probe(wordTool.name).slice(0, 1), false);
    const whole = yield* render(probe(wordTool.name), false);
    const renamed = yield* render(probe("qzothernameqz"), false);
    const read = yield* Effect.fromResult(formFrom(opening, whole, renamed, end));
    const structure = [opening, whole, yield* render(probe(wordTool.name), true)].join("\n");
    return { problem: undefined, structure, read };
  }).pipe(
    Effect.catch((reason) =>
      Effect.succeed<ToolForm>({ problem: `tools cannot be offered with the chat template: ${reason}`, structure: "" }),
    ),
  );
