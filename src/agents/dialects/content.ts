/** The text of a message's content, which clients write as one text or as a list of parts. */
import { Result } from "effect";
import {
  isAbsent,
  mustBe,
  quoted,
  type Read,
  type Reader,
  readEach,
  readObject,
  readString,
  refuse,
} from "./fields.ts";

/** The field that holds the text of each type of part. */
const textFields: ReadonlyMap<unknown, string> = new Map([
  ["text", "text"],
  ["input_text", "text"],
  ["output_text", "text"],
  ["refusal", "refusal"],
]);

/** Parts with thoughts of earlier replies, which are not shown again. */
const thoughts: ReadonlySet<unknown> = new Set(["thinking", "redacted_thinking", "reasoning", "reasoning_text"]);

const nouns: ReadonlyMap<unknown, string> = new Map([
  ["image", "an image"],
  ["image_url", "an image"],
  ["input_image", "an image"],
  ["audio", "audio"],
  ["input_audio", "audio"],
  ["video", "a video"],
  ["video_url", "a video"],
  ["file", "a file"],
  ["input_file", "a file"],
  ["document", "a document"],
]);

/** Reads the text of a part; null for thoughts. */
export const readPart: Reader<string | null> = (value, path) =>
  Result.gen(function* () {
    const part = yield* readObject(value, path);
    const field = textFields.get(part.type);
    if (field !== undefined) return yield* readString(part[field], `${path}.${field}`);
    if (thoughts.has(part.type)) return null;
    if (typeof part.type !== "string") return yield* mustBe(`${path}.type`, "a text");
    const noun = nouns.get(part.type) ?? `a part of type ${quoted(part.type)}`;
    return yield* refuse(path, `${noun} cannot be read; send text`);
  });

/** Joins the texts of a prompt's parts, which are documents of their own. */
const joinTexts = (texts: readonly (string | null)[]): string => texts.filter((text) => text !== null).join("\n");

const readParts = (value: unknown, path: string): Read<readonly (string | null)[]> => {
  if (typeof value === "string") return Result.succeed([value]);
  return Array.isArray(value) ? readEach(value, path, readPart) : mustBe(path, "a text or a list of parts");
};

/** Reads the content of a prompt's message. */
export const readPrompt: Reader<string> = (value, path) => Result.map(readParts(value, path), joinTexts);

/** Reads the result of a tool, which may be absent. */
export const readToolResult: Reader<string> = (value, path) =>
  isAbsent(value) ? Result.succeed("") : readPrompt(value, path);

/** Reads the text of an earlier reply. It may be absent beside tool calls, and its parts are pieces of one text. */
export const readReplyText: Reader<string> = (value, path) =>
  isAbsent(value) ? Result.succeed("") : Result.map(readParts(value, path), (texts) => texts.join(""));
