/** The play of an environment of tools: an action is read as a call or an answer, checked, and carried out by its tool. */
import type { Tool } from "../../../domain/Conversation.ts";
import type { Random } from "../../../domain/Random.ts";
import type { StepOutcome } from "../EnvironmentDefinition.ts";
import { IllegalAction } from "../IllegalAction.ts";
import { callCheck, toolsProblem } from "./checkCall.ts";
import { readAction, type ToolArguments } from "./ToolAction.ts";
import type { AnswerOutcome, ToolDefinition, ToolOutcome } from "./ToolDefinition.ts";

/** The outcome of an action, with the text that answers it. */
export interface PlayOutcome<State> extends StepOutcome<State> {
  readonly text?: string;
}

/** Carries out an action that is legal, by the draws of its step. */
export type LegalPlay<State> = (random: Random) => PlayOutcome<State>;

/** The legal play of an action; throws `IllegalAction` of any other. */
export type PlayOf<Config, State> = (config: Config, state: State, action: string) => LegalPlay<State>;

/** The parts of a definition that play. */
export interface ToolParts<Config, State> {
  readonly type: string;
  readonly tools: readonly ToolDefinition<Config, State>[];
  readonly answer?: (config: Config, state: State, text: string, random: Random) => AnswerOutcome<State>;
  readonly render: (config: Config, state: State) => string;
}

/** The tools as the model is told of them. */
export const toolList = (tools: readonly Tool[]): readonly Tool[] =>
  tools.map(({ description, name, parameters }) => ({ name, description, parameters }));

const answered = <State>(
  before: State,
  { reward = 0, terminated = true, state = before, ...outcome }: AnswerOutcome<State>,
  render: (state: State) => string,
): PlayOutcome<State> => {
  const { info = {}, success = terminated && reward > 0, text } = outcome;
  const judged = { state, reward, terminated, success, info };
  return terminated ? judged : { ...judged, text: text ?? render(state) };
};

/** The play of tools. Throws where they cannot be offered. */
export const toolPlay = <Config, State>({
  answer = () => ({}),
  render,
  tools,
  type,
}: ToolParts<Config, State>): PlayOf<Config, State> => {
  const problem = toolsProblem(tools);
  if (problem !== null) throw new Error(`${type}: ${problem}`);
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const check = callCheck(tools);
  const legalCall = (action: string, name: string, values: unknown): ToolDefinition<Config, State> => {
    const reason = check(name, values);
    const tool = byName.get(name);
    if (reason === null && tool !== undefined) return tool;
    throw new IllegalAction({ env_type: type, action, valid: [...byName.keys()], reason: reason ?? "no tool" });
  };
  const called = (config: Config, state: State, tool: ToolDefinition<Config, State>, values: ToolArguments) => {
    return (random: Random): ToolOutcome<State> => tool.run(config, state, values, random);
  };
  return (config, state, action) => {
    const read = readAction(action, tools);
    if (read._tag === "Answer") {
      return (random) => answered(state, answer(config, state, read.text, random), (after) => render(config, after));
    }
    const values = read._tag === "Call" ? read.arguments : undefined;
    return called(config, state, legalCall(action, read.name, values), values ?? {});
  };
};
