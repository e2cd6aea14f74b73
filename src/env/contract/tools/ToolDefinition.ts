/**
 * The short form of an environment of tools: each tool is a name, a description, a JSON Schema of its arguments and a function of the state. The
 * types of a handler's arguments are those of its schema, where that is written in place.
 */
import type { Random } from "../../../domain/Random.ts";
import type { ConfigOf, EnvironmentDefinition, ExtraInfo, Keys, StepOutcome } from "../EnvironmentDefinition.ts";
import type { ToolArguments } from "./ToolAction.ts";

/** The type of an argument by its schema. */
type ArgumentOf<S> = S extends { readonly enum: readonly (infer Value)[] }
  ? Value
  : S extends { readonly type: "string" }
    ? string
    : S extends { readonly type: "number" | "integer" }
      ? number
      : S extends { readonly type: "boolean" }
        ? boolean
        : unknown;

/** The names of the arguments that a call must have. */
type RequiredOf<Parameters> = Parameters extends { readonly required: readonly (infer Name)[] } ? Name : never;

/** The types of a tool's arguments by its schema: those of texts, numbers, booleans and enumerations; `unknown` of others. */
export type ArgumentsOf<Parameters> = Parameters extends { readonly properties: infer Properties }
  ? {
      readonly [Name in keyof Properties as Name extends RequiredOf<Parameters> ? Name : never]: ArgumentOf<
        Properties[Name]
      >;
    } & {
      readonly [Name in keyof Properties as Name extends RequiredOf<Parameters> ? never : Name]?: ArgumentOf<
        Properties[Name]
      >;
    }
  : ToolArguments;

/** The result of a call. */
export interface ToolOutcome<State> extends StepOutcome<State> {
  /** The text that the model is shown. */
  readonly text: string;
}

/** The result of an answer. */
export interface AnswerOutcome<State> {
  /** The state before by default. */
  readonly state?: State;
  /** 0 by default. */
  readonly reward?: number;
  /** The answer ends the episode; true by default. */
  readonly terminated?: boolean;
  /** True by default if the answer ends the episode with a reward above 0. */
  readonly success?: boolean;
  /** The text that the model is shown where the episode goes on; the state's text by default. */
  readonly text?: string;
  readonly info?: ExtraInfo;
}

/** A tool that the model may call. */
export interface ToolDefinition<Config, State, Parameters = unknown> {
  /** Letters, digits, `_`, `-`, `.` and `/`, no sign first; 128 at most. */
  readonly name: string;
  /** Says to the model what the tool does. */
  readonly description: string;
  /** JSON Schema of the arguments: `{ type: "object", properties: … }`. */
  readonly parameters: Parameters;
  /** Carries out a call, a pure function of its arguments. A call whose arguments do not fit `parameters` never gets here. */
  readonly run: (config: Config, state: State, values: ArgumentsOf<Parameters>, random: Random) => ToolOutcome<State>;
}

/** An environment of tools. A reply calls tools or answers; `render` is the user's message at the start. */
export interface ToolEnvironmentDefinition<K extends Keys, State, Tools extends readonly unknown[]>
  extends Omit<EnvironmentDefinition<K, State>, "actions" | "actionsInState" | "step" | "tools" | "wholeAnswer"> {
  /** Absent: the tools play. */
  readonly step?: undefined;
  readonly tools: { readonly [At in keyof Tools]: ToolDefinition<ConfigOf<K>, State, Tools[At]> };
  /** Judges a reply that calls no tool. By default it ends the episode, without a reward. */
  readonly answer?: (config: ConfigOf<K>, state: State, text: string, random: Random) => AnswerOutcome<State>;
}
