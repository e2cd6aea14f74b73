/** The forms of an agent in docs/agents.md, which must compile, and others that must not: `tsc` is the test. */
import { type Agent, defineAgent, rolloutHandler } from "millrace/agent";

interface QuestionTask {
  readonly question: string;
  readonly answer: string;
}

export const ofFile = defineAgent<QuestionTask>({
  tasks: "./tasks.jsonl",
  run: ({ task }) => ({ reward: task.question === task.answer ? 1 : 0 }),
});

export const ofFileWithoutType = defineAgent({
  tasks: "./tasks.jsonl",
  // @ts-expect-error: the tasks of a file have no type unless one is named
  run: ({ task }) => ({ reward: task.answer === "" ? 0 : 1 }),
});

export const ofFunction = defineAgent({
  tasks: (seed, split, level = "easy") => ({ floor: seed % 10, split, level }),
  run: async ({ episode: { anthropicBaseURL, apiKey, baseURL, level }, signal, task }) => {
    const floor: number = task.floor;
    // @ts-expect-error: a number is no text
    const wrong: string = task.floor;
    signal.throwIfAborted();
    const metrics = { floor, long: `${anthropicBaseURL}${apiKey}${baseURL}${wrong}`.length > 9 };
    return { turns: [0, 1], metrics, success: task.level === level };
  },
});

export const ofList = defineAgent({
  tasks: [{ question: "1 + 1", answer: "2" }],
  // @ts-expect-error: a misspelt field of a task
  run: ({ task }) => ({ reward: task.anwser === "2" ? 1 : 0 }),
});

export const ofPromises = defineAgent({
  tasks: async (seed) => `${seed}`,
  run: ({ task }) => ({ reward: task.length }),
});

export const playsAnEnvironment = defineAgent({
  tasks: ["go"],
  run: async ({ episode }) => {
    const game = await episode.environment("FrozenLake");
    const { reward } = await game.step(["Up"]);
    return { reward };
  },
});

export const withWrongOutcomes: readonly Agent[] = [
  // @ts-expect-error: a reward is a number
  { tasks: [1], run: () => ({ reward: "1" }) },
  // @ts-expect-error: a metric is a number or a boolean
  { tasks: [1], run: () => ({ reward: 1, metrics: { name: "text" } }) },
  // @ts-expect-error: an agent without tasks
  { run: () => ({ reward: 1 }) },
];

export const POST: (request: Request) => Promise<Response> = rolloutHandler(ofFile, {
  token: process.env.MILLRACE_TOKEN,
});
