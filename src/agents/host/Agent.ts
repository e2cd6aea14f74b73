/** An agent of the user's own, as its module exports it. */
import type { PlayedEnvironment } from "./environments.ts";

/** The episode that an agent plays, and the endpoint that answers its calls. */
export interface AgentEpisode {
  /** Address for a client of OpenAI's API, `/v1` included. */
  readonly baseURL: string;
  /** Address for a client of Anthropic's API, without `/v1`. */
  readonly anthropicBaseURL: string;
  /** The key of this episode: calls made with it belong to it, and are what is trained on. */
  readonly apiKey: string;
  readonly split: "train" | "val";
  /** Equal for the episodes of a group, which play the same task. */
  readonly seed: number;
  readonly group: number;
  /** Index of the episode in its group. */
  readonly member: number;
  /** The level that the task sampler chose, where the run file has `agent.levels`. */
  readonly level?: string;
  /** The instance of this group in the environment of a preset of the run file. */
  readonly environment: (tag: string) => Promise<PlayedEnvironment>;
}

/** The task of an episode and the episode itself, as `run` gets them. */
export interface AgentContext<Task> {
  readonly task: Task;
  readonly episode: AgentEpisode;
  /** Aborts where the episode is given up: at its time limit, or with the run. */
  readonly signal: AbortSignal;
}

/** An agent's account of an episode. One without a reward has failed, and is not trained on; it never counts as 0. */
export interface AgentOutcome {
  /** Reward of the whole episode. */
  readonly reward?: number;
  /** The reward of each call in the order of their answers, in place of `reward`. */
  readonly turns?: readonly number[];
  /** True by default if the reward is above 0. */
  readonly success?: boolean;
  /** Numbers that become metrics. */
  readonly metrics?: Readonly<Record<string, number | boolean>>;
}

/** An agent: its tasks, and a function that plays one episode. */
export interface Agent<Task = unknown> {
  /**
   * A JSONL file, relative to the module; a list of tasks; or a function of a seed. Episodes of equal seed, split and level play the same task.
   * With `agent.levels` in the run file, a task of a list names its own as `level`, and a function is given the level.
   */
  readonly tasks:
    | string
    | readonly Task[]
    | ((seed: number, split: "train" | "val", level?: string) => Task | Promise<Task>);
  /** Plays one episode. An error that it throws fails the episode. */
  readonly run: (context: AgentContext<Task>) => AgentOutcome | Promise<AgentOutcome>;
}

/** Makes an agent for `export default`. */
export const defineAgent = <Task>(agent: Agent<Task>): Agent<Task> => agent;
