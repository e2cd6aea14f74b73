/**
 * Runs the episodes of a module's agent, any number at once, in a thread or a process. Invariant: an error of one episode fails that episode
 * alone, and no agent ends the process.
 */
import { Result } from "effect";
import { defaultExport, loadExports } from "../../support/modules/loadExports.ts";
import { describeModuleError } from "../../support/modules/moduleError.ts";
import { guardProcess } from "../../support/modules/processGuard.ts";
import type { Agent, AgentEpisode } from "./Agent.ts";
import type { EpisodeOrder } from "./AgentHost.ts";
import { environmentLoader, playEnvironment } from "./environments.ts";
import type { FromRunner, RunnerSetup, ToRunner } from "./messages.ts";
import { type AgentResult, readOutcome } from "./outcome.ts";
import { type TaskSource, taskSource } from "./tasks.ts";

/** The other side of a runner: what started it. */
export interface RunnerChannel {
  readonly send: (message: FromRunner) => void;
  readonly onMessage: (receive: (message: ToRunner) => void) => void;
}

/** Milliseconds between two signs that the runner is not blocked. */
const aliveMs = 500;

const isAgent = (value: unknown): value is Agent =>
  typeof value === "object" &&
  value !== null &&
  "run" in value &&
  typeof value.run === "function" &&
  "tasks" in value &&
  (typeof value.tasks === "string" || typeof value.tasks === "function" || Array.isArray(value.tasks));

/** An agent with the source of its tasks. */
export interface LoadedAgent {
  readonly agent: Agent;
  readonly taskOf: TaskSource;
}

/** The agent of the module and the source of its tasks. Rejects with a sentence where there is none. */
const loadAgent = async (path: string): Promise<LoadedAgent> => {
  const exported = await loadExports(path);
  const found = Result.flatMap(exported, (exports) => defaultExport(exports, "agent"));
  if (Result.isFailure(found)) throw new Error(found.failure);
  if (!isAgent(found.success)) throw new Error("the default export is no agent: it has no tasks and run (defineAgent)");
  return { agent: found.success, taskOf: await taskSource(path, found.success) };
};

/** The episode of an order, as `run` gets it. */
export const episodeOf = (
  { apiKey, endpoint, group, level, member, seed, split }: EpisodeOrder,
  environment: AgentEpisode["environment"],
): AgentEpisode => ({
  ...{ apiKey, group, member, seed, split, environment },
  ...(level === undefined ? {} : { level }),
  baseURL: `${endpoint}/v1`,
  anthropicBaseURL: endpoint,
});

/** Runs one episode. Rejects with the agent's error, or with a sentence if it gives no reward. */
export const runEpisode = async (
  { agent, taskOf }: LoadedAgent,
  episode: AgentEpisode,
  signal: AbortSignal,
): Promise<AgentResult> => {
  const task = await taskOf(episode.seed, episode.split, episode.level);
  const result = readOutcome(await agent.run({ task, episode, signal }));
  if (Result.isFailure(result)) throw new Error(result.failure);
  return result.success;
};

/** Loads the agent, says so, and then runs the episodes that are ordered. */
export const serveAgent = async (setup: RunnerSetup, { onMessage, send }: RunnerChannel): Promise<void> => {
  const { path } = setup;
  guardProcess();
  // An error outside of any episode, such as a promise that nobody waits for, is no reason to lose the others.
  process.on("uncaughtException", () => undefined);
  process.on("unhandledRejection", () => undefined);

  const loaded = await loadAgent(path).catch((cause: unknown) =>
    cause instanceof Error ? cause.message : String(cause),
  );
  if (typeof loaded === "string") {
    send({ _tag: "Loaded", problem: loaded });
    return;
  }
  const environmentOf = environmentLoader(setup);
  const aborts = new Map<number, AbortController>();
  const play = async (id: number, order: EpisodeOrder): Promise<void> => {
    const abort = new AbortController();
    aborts.set(id, abort);
    const episode = episodeOf(order, async (tag) => playEnvironment(tag, await environmentOf(tag), order));
    try {
      send({ _tag: "Finished", id, result: await runEpisode(loaded, episode, abort.signal) });
    } catch (cause) {
      send({ _tag: "Failed", id, message: describeModuleError(path, cause) });
    } finally {
      aborts.delete(id);
    }
  };
  onMessage((message) => {
    if (message._tag === "Run") void play(message.id, message.order);
    else aborts.get(message.id)?.abort(new Error(message.reason));
  });
  setInterval(() => send({ _tag: "Alive" }), aliveMs);
  send({ _tag: "Loaded", problem: null });
};
