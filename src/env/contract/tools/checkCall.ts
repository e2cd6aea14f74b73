/**
 * Checks calls against the tools that are offered, and the tools themselves. Arguments are checked by the tool's JSON Schema.
 * Invariant: what is wrong is a sentence, which the model is shown.
 */
import * as JsonSchema from "effect/JsonSchema";
import * as Result from "effect/Result";
import * as Schema from "effect/Schema";
import * as SchemaIssue from "effect/SchemaIssue";
import * as SchemaRepresentation from "effect/SchemaRepresentation";
import type { Tool } from "../../../domain/Conversation.ts";
import { isJsonObject } from "../../../support/json.ts";
import { messageOf } from "../prepare.ts";

/** Says what is wrong with a call; null where nothing is. */
export type CallCheck = (name: string, values: unknown) => string | null;

type ArgumentCheck = (values: unknown) => string | null;

const standardIssues = SchemaIssue.makeFormatterStandardSchemaV1();

/** The first problems, in words: `a: expected number`. */
const wordsOf = ({ issue }: Schema.SchemaError): string => {
  const lines = standardIssues(issue).issues.map(({ message, path = [] }) => {
    const place = path.map((part) => String(typeof part === "object" ? part.key : part)).join(".");
    const words = message.charAt(0).toLowerCase() + message.slice(1);
    return place === "" ? words : `${place}: ${words}`;
  });
  return lines.slice(0, 5).join("; ");
};

const documentOf = (parameters: JsonSchema.JsonSchema) =>
  String(parameters.$schema ?? "").includes("draft-07")
    ? JsonSchema.fromSchemaDraft07(parameters)
    : JsonSchema.fromSchemaDraft2020_12(parameters);

/** The check of a tool's arguments, or a sentence on a schema that cannot be used. */
const argumentCheck = (parameters: unknown): Result.Result<ArgumentCheck, string> => {
  if (!isJsonObject(parameters) || parameters.type !== "object") {
    return Result.fail('its parameters are no JSON Schema of an object ({ type: "object", properties: … })');
  }
  return Result.try({
    try: () => {
      const schema = SchemaRepresentation.fromJsonSchemaDocument(documentOf(parameters), { patterns: "apply" });
      // Arguments are JSON, which these schemas decode without services.
      const decode = Schema.decodeUnknownResult(schema as Schema.Codec<unknown, unknown>, {
        errors: "all",
        onExcessProperty: "error",
      });
      return (values: unknown) => Result.match(decode(values), { onSuccess: () => null, onFailure: wordsOf });
    },
    catch: (cause) => `its parameters cannot be used: ${messageOf(cause).replace(/\n\s*/g, " ")}`,
  });
};

const toolName = /^\w[\w./-]{0,127}$/;

/** Says why a name cannot be a tool's; null where it can. */
const nameProblem = (name: unknown, at: number, names: readonly unknown[]): string | null => {
  if (typeof name !== "string" || !toolName.test(name)) {
    return `tool ${at + 1} has the name ${JSON.stringify(name)}: 1 to 128 letters, digits, _, -, . and /, no sign first`;
  }
  return names.indexOf(name) === at ? null : `two tools are called ${name}`;
};

const problemOf = ({ description, name, parameters }: Tool): string | null => {
  if (typeof description !== "string") return `the tool ${name} has no description`;
  const check = argumentCheck(parameters);
  return Result.isFailure(check) ? `the tool ${name}: ${check.failure}` : null;
};

/** Says why tools cannot be called by their names; null where they can. */
export const namesProblem = (tools: readonly Tool[]): string | null => {
  if (tools.length === 0) return "the list of tools is empty";
  const names = tools.map(({ name }) => name);
  return names.map((name, at) => nameProblem(name, at, names)).find((problem) => problem !== null) ?? null;
};

/** Says why tools cannot be offered; null where they can. */
export const toolsProblem = (tools: readonly Tool[]): string | null =>
  namesProblem(tools) ?? tools.map(problemOf).find((problem) => problem !== null) ?? null;

/** Checks no more than that arguments are an object, where a server's schema has keywords that are not checked here. */
const isObjectCheck: ArgumentCheck = (values) => (isJsonObject(values) ? null : "the arguments are no JSON object");

/** The check of the calls of `tools`. */
export const callCheck = (tools: readonly Tool[]): CallCheck => {
  const names = tools.map(({ name }) => name).join(", ");
  const checks = new Map(
    tools.map(({ name, parameters }) => [name, Result.getOrElse(argumentCheck(parameters), () => isObjectCheck)]),
  );
  return (name, values) => {
    const check = checks.get(name);
    return check === undefined ? `there is no tool ${JSON.stringify(name)}; the tools are ${names}` : check(values);
  };
};
