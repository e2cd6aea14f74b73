/**
 * The actions of an environment with tools, as texts: a call is `name({"argument": 1})`, an answer is its own text. Texts are what records,
 * plans and `millrace trace` have in common with other environments.
 * Invariant: a text that is written here is read back as the same call or answer.
 */
import type { Tool } from "../../../domain/Conversation.ts";
import { jsonOrUndefined } from "../../../support/http/errorText.ts";
import { isJsonObject, type JsonObject } from "../../../support/json.ts";

/** Arguments of a call by their names. */
export type ToolArguments = JsonObject;

/** An action of an environment with tools, as it was read. */
export type ToolAction =
  | { readonly _tag: "Call"; readonly name: string; readonly arguments: ToolArguments }
  | { readonly _tag: "Answer"; readonly text: string }
  /** A call of a tool whose arguments are no JSON object. */
  | { readonly _tag: "Unreadable"; readonly name: string };

/** Tools of which only the names matter. */
type Names = readonly Pick<Tool, "name">[];

/** The arguments of a call are a JSON object. */
export const isToolArguments: (value: unknown) => value is ToolArguments = isJsonObject;

const callForm = /^(\w[\w./-]*)\(([\s\S]*)\)$/;

/** Reads an action. A text in the form of a call that names none of the tools is an answer, and so is all other text. */
export const readAction = (action: string, tools: Names): ToolAction => {
  const quoted = action.startsWith('"') ? jsonOrUndefined(action) : undefined;
  if (typeof quoted === "string") return { _tag: "Answer", text: quoted };
  const [, name, written = ""] = callForm.exec(action) ?? [];
  if (name === undefined || !tools.some((tool) => tool.name === name)) return { _tag: "Answer", text: action };
  const values = written.trim() === "" ? {} : jsonOrUndefined(written);
  return isToolArguments(values) ? { _tag: "Call", name, arguments: values } : { _tag: "Unreadable", name };
};

/** The action that calls a tool, for solvers and advisers of environments with tools. */
export const toolCall = (name: string, values: ToolArguments): string => `${name}(${JSON.stringify(values)})`;

/** The action that answers. A text that would be read as something else is quoted as JSON. */
export const toolAnswer = (text: string, tools: Names): string => {
  const read = readAction(text, tools);
  return text !== "" && read._tag === "Answer" && read.text === text ? text : JSON.stringify(text);
};
