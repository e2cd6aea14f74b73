/**
 * The entry `millrace/env` for authors of environments: the contracts, the errors that `step` and `reset` may throw, the streams of random
 * draws, and the helpers that declare keys of `env_config`. Everything else of this package may change without notice.
 */
export { between, count, field, fraction, nonNegative, positive, section, whole } from "../../config/field.ts";
export type { Tool } from "../../domain/Conversation.ts";
export { type Draws, type Random, type StreamKey, stream } from "../../domain/Random.ts";
export type { AsyncEnvironment, Introduction } from "./AsyncEnvironment.ts";
export { type DefinedState, defineEnvironment } from "./defineEnvironment.ts";
export type { BaseInfo, Environment, Split, Transition } from "./Environment.ts";
export type { EnvironmentDefinition, StepOutcome } from "./EnvironmentDefinition.ts";
export { choice, type FieldOptions, flag, integer, number, text } from "./fields.ts";
export { IllegalAction } from "./IllegalAction.ts";
export { NoInstance } from "./NoInstance.ts";
export { readAction, type ToolAction, type ToolArguments, toolAnswer, toolCall } from "./tools/ToolAction.ts";
export type {
  AnswerOutcome,
  ArgumentsOf,
  ToolDefinition,
  ToolEnvironmentDefinition,
  ToolOutcome,
} from "./tools/ToolDefinition.ts";
