/**
 * Draws calls of tools whose arguments are enumerations, numbers, texts, or true and false. Pure, given the stream.
 * Invariant: a drawn call fits the schema of its tool; tools of other arguments are not drawn.
 */
import type { Tool } from "../../domain/Conversation.ts";
import { type Random, stream } from "../../domain/Random.ts";
import { callCheck } from "../contract/tools/checkCall.ts";
import { type ToolArguments, toolCall } from "../contract/tools/ToolAction.ts";

/** A JSON Schema, as far as it is read here. */
interface ArgumentSchema {
  readonly type?: unknown;
  readonly enum?: unknown;
  readonly minimum?: unknown;
  readonly maximum?: unknown;
  readonly properties?: unknown;
  readonly required?: unknown;
}

const isSchema = (value: unknown): value is ArgumentSchema => typeof value === "object" && value !== null;

/** Numbers are drawn from so many from the least on, where the schema has no bound. */
const numberRange = 20;

const drawInteger = ({ maximum, minimum }: ArgumentSchema, random: Random): number => {
  const least = typeof minimum === "number" ? Math.ceil(minimum) : 0;
  const most = typeof maximum === "number" ? Math.floor(maximum) : least + numberRange;
  return least + random.int(Math.max(1, most - least + 1));
};

/** A value of an argument; undefined where its kind is not drawn. */
const drawValue = (schema: unknown, words: readonly string[], random: Random): unknown => {
  if (!isSchema(schema)) return undefined;
  if (Array.isArray(schema.enum)) return schema.enum.length === 0 ? undefined : random.pick(schema.enum);
  switch (schema.type) {
    case "boolean":
      return random.uniform() < 0.5;
    case "integer":
    case "number":
      return drawInteger(schema, random);
    case "string":
      return random.pick(words);
    default:
      return undefined;
  }
};

/** Arguments of a tool, optional ones by chance; undefined where a required one is not drawn. */
const drawArguments = ({ parameters }: Tool, words: readonly string[], random: Random): ToolArguments | undefined => {
  if (!isSchema(parameters)) return undefined;
  const { properties, required } = parameters;
  const names: readonly unknown[] = Array.isArray(required) ? required : [];
  const values: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(isSchema(properties) ? properties : {})) {
    const isRequired = names.includes(name);
    const value = drawValue(schema, words, random);
    if (isRequired && value === undefined) return undefined;
    if (value !== undefined && (isRequired || random.uniform() < 0.5)) values[name] = value;
  }
  return values;
};

/** Draws calls of one list of tools. */
export interface CallDrawer {
  /** A call of one of the tools that are drawn; null where none is. `words` are what arguments of text are drawn from. */
  readonly draw: (words: readonly string[], random: Random) => string | null;
  /** Names of the tools that are not drawn. */
  readonly undrawn: readonly string[];
}

/** Trials by which a tool counts as drawn. */
const trials = 16;

export const callDrawer = (tools: readonly Tool[]): CallDrawer => {
  const check = callCheck(tools);
  const fits = ({ name }: Tool, values: ToolArguments | undefined): values is ToolArguments =>
    values !== undefined && check(name, values) === null;
  const isDrawn = (tool: Tool): boolean => {
    const random = stream({ seed: 0, purpose: "play", counters: [] });
    return Array.from({ length: trials }, () => drawArguments(tool, ["a", "text"], random)).every((values) =>
      fits(tool, values),
    );
  };
  const drawn = tools.filter(isDrawn);
  return {
    undrawn: tools.filter((tool) => !drawn.includes(tool)).map(({ name }) => name),
    draw: (words, random) => {
      if (drawn.length === 0) return null;
      const tool = random.pick(drawn);
      const values = drawArguments(tool, words, random);
      return fits(tool, values) ? toolCall(tool.name, values) : null;
    },
  };
};
