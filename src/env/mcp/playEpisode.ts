/**
 * Plays the calls and the answer of an episode on a session of its own, which is opened at its first use.
 * Invariant: a call that fails closes the session; the episode cannot go on, and never counts as one that earned 0.
 */
import { isReward } from "../../domain/Episode.ts";
import type { BaseInfo, Transition } from "../contract/Environment.ts";
import type { ExtraInfo } from "../contract/EnvironmentDefinition.ts";
import type { ToolArguments } from "../contract/tools/ToolAction.ts";
import type { McpAddress, McpCall, McpCommand, McpConnection, McpScore, McpTranscript } from "./McpDefinition.ts";
import { type McpSession, openSession, type RequestLimits } from "./McpSession.ts";
import * as Sessions from "./Sessions.ts";

/** An episode as plain data. */
export interface McpState<Task> {
  readonly task: Task;
  /** Id of the episode's session; null before its first use. */
  readonly session: string | null;
  readonly calls: readonly McpCall[];
  readonly end: { readonly success: boolean } | null;
}

export type McpTransition<Task> = Transition<McpState<Task>, BaseInfo & ExtraInfo>;

/** The parts of a definition, under one configuration. */
export interface McpEpisode<Task> {
  readonly type: string;
  readonly server: McpCommand | McpAddress;
  readonly begin: ((task: Task, server: McpConnection) => Promise<void>) | undefined;
  readonly reward: (
    task: Task,
    transcript: McpTranscript,
    server: McpConnection,
  ) => number | McpScore | Promise<number | McpScore>;
}

/** The calls of an author's own functions, which take an error of a tool for their own. */
const connectionOf = (session: () => Promise<McpSession>, limits: RequestLimits): McpConnection => ({
  call: async (name, values = {}) => {
    const { isError, text } = await (await session()).call(name, values, limits);
    if (isError) throw new Error(`the tool ${name} reports an error: ${text}`);
    return text;
  },
});

const open = async <Task>(episode: McpEpisode<Task>, task: Task, limits: RequestLimits): Promise<string> => {
  const session = await openSession(episode.server, limits);
  try {
    await episode.begin?.(
      task,
      connectionOf(async () => session, limits),
    );
  } catch (cause) {
    await session.close();
    throw cause;
  }
  return Sessions.hold(session);
};

/** An episode's session, once it is used. */
interface SessionUse {
  readonly session: () => Promise<McpSession>;
  /** Null where it was never used. */
  readonly id: () => string | null;
}

/** Plays by the episode's session, opened where it has none; a failure closes it. */
const onSession = async <Task, A>(
  episode: McpEpisode<Task>,
  { calls, session, task }: McpState<Task>,
  limits: RequestLimits,
  play: (use: SessionUse) => Promise<A>,
): Promise<A> => {
  let id = session;
  let opening: Promise<string> | undefined;
  const sessionInUse = async (): Promise<McpSession> => {
    opening ??= id === null ? open(episode, task, limits) : Promise.resolve(id);
    id = await opening;
    return Sessions.sessionOf(id, calls.length);
  };
  try {
    return await play({ session: sessionInUse, id: () => id });
  } catch (cause) {
    if (id !== null) await Sessions.release(id);
    throw cause;
  }
};

/** Carries out a call of the model. */
export const callTool = <Task>(
  episode: McpEpisode<Task>,
  state: McpState<Task>,
  name: string,
  values: ToolArguments,
  limits: RequestLimits,
): Promise<McpTransition<Task>> =>
  onSession(episode, state, limits, async ({ id, session }) => {
    const { isError, text } = await (await session()).call(name, values, limits);
    Sessions.countCall(id());
    const calls = [...state.calls, { name, arguments: values, text, isError }];
    const info = { success: false, action_is_effective: !isError, action_is_valid: !isError };
    const next = { ...state, session: id(), calls };
    return { state: next, reward: 0, terminated: false, truncated: false, info, result: text };
  });

/** The score of a reward; throws where it is none. */
const scoreOf = (type: string, given: number | McpScore): Required<McpScore> => {
  const score = typeof given === "number" ? { reward: given } : given;
  if (!isReward(score.reward)) {
    throw new Error(`${type}: reward gave ${score.reward}, not a number between -1e9 and 1e9`);
  }
  const { info = {}, reward, success = reward > 0 } = score;
  return { reward, success, info };
};

/** Scores the answer of the model, which ends the episode. */
export const scoreAnswer = <Task>(
  episode: McpEpisode<Task>,
  state: McpState<Task>,
  answer: string,
  limits: RequestLimits,
): Promise<McpTransition<Task>> =>
  onSession(episode, state, limits, async ({ id, session }) => {
    const transcript = { calls: state.calls, answer };
    const given = await episode.reward(state.task, transcript, connectionOf(session, limits));
    const { info, reward, success } = scoreOf(episode.type, given);
    const next = { ...state, session: id(), end: { success } };
    const counted = { ...info, success, action_is_effective: true, action_is_valid: true };
    return { state: next, reward, terminated: true, truncated: false, info: counted };
  });

/** The transition of an action behind the end, which changes nothing. */
export const afterEnd = <Task>(state: McpState<Task>): McpTransition<Task> => {
  const info = { success: state.end?.success ?? false, action_is_effective: false, action_is_valid: true };
  return { state, reward: 0, terminated: true, truncated: false, info, result: "the episode has ended" };
};
