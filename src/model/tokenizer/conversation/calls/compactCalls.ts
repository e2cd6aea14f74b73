/**
 * Tool calls of the compact style: `name(arguments)` on a line of its own, short enough for a model of some hundred tokens. Arguments are
 * empty, one bare text for a tool with one parameter of text, JSON scalars in the order of the parameters, or one JSON object.
 * Invariant: what `writeCall` writes for an offered tool, `readCompact` reads back as the same call.
 */
import { isDeepStrictEqual } from "node:util";
import { Option, Result } from "effect";
import type { Tool } from "../../../../domain/Conversation.ts";
import { isJsonObject, type JsonObject } from "../../../checkpoint/TokenizerFiles.ts";
import { quote } from "../../quote.ts";
import { type CallReading, type ReadCall, unknownTool } from "../readReply.ts";
import { parseJson } from "./parseJson.ts";

type Parameters = readonly (readonly [name: string, schema: unknown])[];

const parametersOf = ({ parameters }: Tool): Parameters =>
  isJsonObject(parameters) && isJsonObject(parameters.properties) ? Object.entries(parameters.properties) : [];

/** The line of a tool in the system's text. */
export const toolLine = (tool: Tool): string => {
  const names = parametersOf(tool).map(([name]) => name);
  const description = tool.description.replace(/\s+/g, " ").trim();
  return `${tool.name}(${names.join(", ")})${description === "" ? "" : `: ${description}`}`;
};

const isTextSchema = (schema: unknown): boolean => {
  if (!isJsonObject(schema)) return false;
  if (schema.type === "string") return true;
  return schema.type === undefined && Array.isArray(schema.enum) && schema.enum.every((one) => typeof one === "string");
};

const isScalar = (value: unknown): boolean => typeof value !== "object" || value === null;

/** The arguments as one JSON object. Where a bare text may stand as well, it counts only if it names the parameter. */
const objectIn = (written: string, parameters: Parameters, isBareText: boolean): Option.Option<JsonObject> =>
  Option.filter(Option.filter(parseJson(written), isJsonObject), (value) => {
    const names = Object.keys(value);
    return !isBareText || (names.length === 1 && names[0] === parameters[0]?.[0]);
  });

const readArguments = (tool: Tool, written: string): Result.Result<JsonObject, string> => {
  const parameters = parametersOf(tool);
  const [first] = parameters;
  const isBareText = parameters.length === 1 && first !== undefined && isTextSchema(first[1]);
  if (written === "") return Result.succeed({});
  const object = objectIn(written, parameters, isBareText);
  if (Option.isSome(object)) return Result.succeed(object.value);
  if (isBareText) {
    const quoted = Option.getOrUndefined(parseJson(written));
    return Result.succeed(Object.fromEntries([[first[0], typeof quoted === "string" ? quoted : written]]));
  }
  const values = Option.getOrUndefined(parseJson(`[${written}]`));
  if (!Array.isArray(values) || !values.every(isScalar)) {
    return Result.fail("its arguments are neither JSON values between commas nor one JSON object");
  }
  if (values.length > parameters.length) {
    return Result.fail(`it has ${values.length} arguments, and the tool takes ${parameters.length}`);
  }
  return Result.succeed(Object.fromEntries(parameters.slice(0, values.length).map(([name], at) => [name, values[at]])));
};

/** The shortest form of the arguments that is read back as the same. */
const writeArguments = (values: unknown, tool: Tool | undefined): string => {
  if (!isJsonObject(values)) return values === undefined || values === null ? "" : JSON.stringify(values);
  const parameters = tool === undefined ? [] : parametersOf(tool);
  const inOrder = parameters.filter(([name]) => Object.hasOwn(values, name)).map(([name]) => values[name]);
  const forms = [
    "",
    ...(inOrder.length === 1 && typeof inOrder[0] === "string" ? [inOrder[0]] : []),
    inOrder.map((value) => JSON.stringify(value)).join(", "),
  ];
  const isReadBack = (written: string): boolean => {
    if (tool === undefined || /[\r\n]/.test(written) || written !== written.trim()) return false;
    return isDeepStrictEqual(Result.getOrUndefined(readArguments(tool, written)), values);
  };
  return forms.find(isReadBack) ?? JSON.stringify(values);
};

/** A call as a reply writes it. */
export const writeCall = ({ arguments: values, name }: ReadCall, tools: readonly Tool[]): string =>
  `${name}(${writeArguments(
    values,
    tools.find((tool) => tool.name === name),
  )})`;

const callLike = /^([A-Za-z_][\w.-]*)\(.*\)$/;

/** The call that a line is; null where it is none, a failure where it is one that cannot be read. */
const readLine = (line: string, tools: readonly Tool[], isAnswer: boolean): Result.Result<ReadCall | null, string> => {
  const tool = tools.find(({ name }) => line.startsWith(`${name}(`));
  if (tool === undefined) {
    const [, name] = callLike.exec(line) ?? [];
    return isAnswer && tools.length > 0 && name !== undefined ? Result.fail(unknownTool(name)) : Result.succeed(null);
  }
  if (!line.endsWith(")")) return Result.fail(`the call ${quote(line)} is not closed`);
  const written = line.slice(tool.name.length + 1, -1).trim();
  return Result.mapBoth(readArguments(tool, written), {
    onSuccess: (values) => ({ name: tool.name, arguments: values }),
    onFailure: (reason) => `the call ${quote(line)} cannot be read: ${reason}`,
  });
};

/** Reads the calls of a text, line by line. */
const readLines = (text: string, tools: readonly Tool[], isAnswer: boolean): CallReading => {
  const left: string[] = [];
  const calls: ReadCall[] = [];
  const problems: string[] = [];
  for (const line of text.split("\n")) {
    const call = readLine(line.trim(), tools, isAnswer);
    if (Result.isSuccess(call) && call.success !== null) calls.push(call.success);
    else left.push(line);
    if (Result.isFailure(call)) problems.push(call.failure);
  }
  return { text: calls.length === 0 ? text : left.join("\n").trim(), calls, problems };
};

const answer = /<answer>([\s\S]*?)(?:<\/answer>|$)/;

/** Reads a reply: calls stand in its answer where it has one. The answer's tags are left out of the text. */
export const readCompact = (text: string, tools: readonly Tool[]): CallReading => {
  const found = answer.exec(text);
  if (found === null) return readLines(text, tools, false);
  const { calls, problems, text: inside } = readLines(found[1] ?? "", tools, true);
  const around = [text.slice(0, found.index), inside, text.slice(found.index + found[0].length)];
  const left = around.map((part) => part.trim()).filter((part) => part !== "");
  return { text: left.join("\n"), calls, problems };
};
