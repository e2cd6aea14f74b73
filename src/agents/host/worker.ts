/**
 * The work of an agent thread: it loads the agent's module once and plays any number of episodes at once. Invariant: an error of one episode
 * fails that episode alone, and no agent ends the process.
 */
import { parentPort, workerData } from "node:worker_threads";
import { Result } from "effect";
import { isReward, LARGEST_REWARD } from "../../domain/Episode.ts";
import { defaultExport, loadExports } from "../../support/modules/loadExports.ts";
import { describeModuleError } from "../../support/modules/moduleError.ts";
import { guardProcess } from "../../support/modules/processGuard.ts";
import type { Agent, AgentEpisode, AgentOutcome } from "./Agent.ts";
import { environmentLoader, playEnvironment } from "./environments.ts";
import type { EpisodeOrder, FromThread, HostResult, ThreadSetup, ToThread } from "./messages.ts";
import { taskSource } from "./tasks.ts";

const setup = workerData as ThreadSetup;
const { path } = setup;
const send = (message: FromThread): void => parentPort?.postMessage(message);

/** Milliseconds between two signs that the thread is not blocked. */
const aliveMs = 500;

const isAgent = (value: unknown): value is Agent =>
  typeof value === "object" &&
  value !== null &&
  "run" in value &&
  typeof value.run === "function" &&
  "tasks" in value &&
  (typeof value.tasks === "string" || typeof value.tasks === "function" || Array.isArray(value.tasks));

/** The agent of the module and the source of its tasks. Rejects with a sentence where there is none. */
const loadAgent = async () => {
  const exported = await loadExports(path);
  const found = Result.flatMap(exported, (exports) => defaultExport(exports, "agent"));
  if (Result.isFailure(found)) throw new Error(found.failure);
  if (!isAgent(found.success)) throw new Error("the default export is no agent: it has no tasks and run (defineAgent)");
  return { agent: found.success, taskOf: await taskSource(path, found.success) };
};

/** The outcome of an agent, checked. Throws a sentence where it gives no reward: such an episode has failed. */
const resultOf = (outcome: AgentOutcome | undefined): HostResult => {
  const { metrics = {}, reward, success, turns } = outcome ?? {};
  const rewards = turns ?? reward;
  if (rewards === undefined) throw new Error("run returned neither reward nor turns");
  const list = typeof rewards === "number" ? [rewards] : rewards;
  if (!Array.isArray(list) || !list.every(isReward)) {
    throw new Error(
      `run returned the reward ${JSON.stringify(rewards)}: a reward is a number of at most ${LARGEST_REWARD}`,
    );
  }
  const total = list.reduce((sum, value) => sum + value, 0);
  const numbers = Object.entries(metrics).map(([name, value]) => [name, Number(value)] as const);
  const strange = numbers.find(([, value]) => !Number.isFinite(value));
  if (strange !== undefined) throw new Error(`run returned the metric ${strange[0]}, which is no number`);
  return { reward: rewards, success: success ?? total > 0, metrics: Object.fromEntries(numbers) };
};

const aborts = new Map<number, AbortController>();

const playing = ({ agent, taskOf }: Awaited<ReturnType<typeof loadAgent>>) => {
  const environmentOf = environmentLoader(setup);
  return async (order: EpisodeOrder): Promise<void> => {
    const { apiKey, endpoint, group, id, member, seed, split } = order;
    const abort = new AbortController();
    aborts.set(id, abort);
    const episode: AgentEpisode = {
      ...{ apiKey, group, member, seed, split },
      baseURL: `${endpoint}/v1`,
      anthropicBaseURL: endpoint,
      environment: async (tag) => playEnvironment(tag, await environmentOf(tag), order),
    };
    try {
      const task = await taskOf(seed, split);
      const outcome = await agent.run({ task, episode, signal: abort.signal });
      send({ _tag: "Finished", id, result: resultOf(outcome) });
    } catch (cause) {
      send({ _tag: "Failed", id, message: describeModuleError(path, cause) });
    } finally {
      aborts.delete(id);
    }
  };
};

guardProcess();
// An error outside of any episode, such as a promise that nobody waits for, is no reason to lose the others.
process.on("uncaughtException", () => undefined);
process.on("unhandledRejection", () => undefined);

const loaded = await loadAgent().then(playing, (cause: unknown) =>
  cause instanceof Error ? cause.message : String(cause),
);
if (typeof loaded === "string") send({ _tag: "Loaded", problem: loaded });
else {
  parentPort?.on("message", (message: ToThread) => {
    if (message._tag === "Run") void loaded(message.order);
    else aborts.get(message.id)?.abort(new Error(message.reason));
  });
  setInterval(() => send({ _tag: "Alive" }), aliveMs);
  send({ _tag: "Loaded", problem: null });
}
