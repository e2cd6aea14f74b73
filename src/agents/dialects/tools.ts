/** The tools that a call offers, and which of them the reply may call. */
import { Result } from "effect";
import type { Tool, ToolChoice } from "../../domain/Conversation.ts";
import { isJsonObject, type JsonObject } from "../../support/json.ts";
import {
  isAbsent,
  mustBe,
  quoted,
  type Read,
  type Reader,
  readName,
  readObject,
  readOr,
  readString,
  refuse,
} from "./fields.ts";

const noParameters = { type: "object", properties: {} };

/** Reads a function whose JSON Schema stands in the field `parameters`. */
export const readFunction = (tool: JsonObject, path: string, parameters: string): Read<Tool> =>
  Result.gen(function* () {
    return {
      name: yield* readName(tool.name, `${path}.name`),
      description: yield* readOr(tool.description, `${path}.description`, readString, ""),
      parameters: yield* readOr(tool[parameters], `${path}.${parameters}`, readObject, noParameters),
    };
  });

/** Refuses a tool or a choice that is of no client's function. */
export const refuseHosted = (type: unknown, path: string): Read<never> =>
  typeof type === "string"
    ? refuse(path, `a tool of type ${quoted(type)} is not served; send functions that the client runs`)
    : mustBe(`${path}.type`, "the type of a tool");

/** Reads the choice of both of OpenAI's dialects. They name a function at different depths. */
export const readOpenAiChoice: Reader<ToolChoice> = (value, path) => {
  if (isAbsent(value)) return Result.succeed("auto");
  if (value === "auto" || value === "none" || value === "required") return Result.succeed(value);
  if (!isJsonObject(value)) return mustBe(path, "auto, none, required or a function");
  if (value.type !== "function") return refuseHosted(value.type, path);
  const named = isJsonObject(value.function) ? value.function : value;
  return Result.map(readName(named.name, `${path}.name`), (name) => ({ name }));
};

/** Refuses a choice that the tools cannot meet. */
export const checkChoice = (choice: ToolChoice, tools: readonly Tool[]): Read<ToolChoice> => {
  if (choice === "auto" || choice === "none") return Result.succeed(choice);
  if (choice === "required") {
    return tools.length > 0 ? Result.succeed(choice) : refuse("tool_choice", "a call is required and tools has none");
  }
  const isOffered = tools.some(({ name }) => name === choice.name);
  return isOffered ? Result.succeed(choice) : refuse("tool_choice", `tools has none named ${quoted(choice.name)}`);
};
