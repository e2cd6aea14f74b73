/** `millrace agent check`: what it says of agents that can be trained and of others, and its exit codes. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "@effect/vitest";
import { Console, Effect } from "effect";
import { describe, expect } from "vitest";
import { agentCheck } from "../../pipelines/agentCheck.ts";
import { parse } from "../../pipelines/arguments.ts";
import type { Tree } from "../../src/config/Tree.ts";
import { BadInput } from "../../src/domain/Errors.ts";
import { packageRoot } from "../../src/support/files/packageRoot.ts";
import * as Stop from "../../src/support/process/Stop.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { writeModel } from "./tiny.ts";

const fixture = (name: string): string => join(packageRoot, "test/agents/fixtures", name);

/** Checks an agent by a random model. */
const check = Effect.fnUntraced(function* (dir: string, agent: Tree) {
  yield* writeModel(dir);
  const groups = { env_groups: 1, n_groups: [1], tags: ["Agent"] };
  const config = tinyConfig(dir, {
    model: { generator_threads: 1 },
    agent: { threads: 1, seconds: 30, ...agent },
    es_manager: { train: groups, val: groups },
  });
  return yield* agentCheck(config);
});

/** Writes a file into `dir`, and returns its path. */
const written = (dir: string, name: string, source: string): string => {
  const path = join(dir, name);
  writeFileSync(path, source);
  return path;
};

const throwing = 'export default { tasks: [1], run: () => { throw new Error("it broke"); } };';
const mute = "export default { tasks: [1], run: () => ({ reward: 1 }) };";

describe("a check of an agent", () => {
  it.live("plays two episodes at once and says that the agent can be trained", () =>
    Effect.gen(function* () {
      const { isTrainable, lines } = yield* check(yield* temporaryFolder, { path: fixture("meeting.ts") });
      expect([isTrainable, lines.at(-1)]).toEqual([true, "this agent can be trained"]);
      const episodes = lines.filter((line) => /^episode \d: reward/.test(line));
      expect(episodes.map((line) => line.slice(0, 19))).toEqual(["episode 1: reward 0", "episode 2: reward 1"]);
      expect(lines.filter((line) => line.startsWith("fatal"))).toEqual([]);
    }),
  );

  it.live("shows the first prompt, and the reply as it was sampled", () =>
    Effect.gen(function* () {
      const { lines } = yield* check(yield* temporaryFolder, { path: fixture("length.ts") });
      const at = lines.indexOf("call 1 shows the model:");
      expect(lines.slice(at + 1, at + 3)).toEqual(["  <|user|>go<|assistant|><think>", "and samples:"]);
    }),
  );

  it.live("scores the sampled tokens again, and finds their log-probabilities", () =>
    Effect.gen(function* () {
      const { lines } = yield* check(yield* temporaryFolder, { path: fixture("forks.ts") });
      const rescored = lines.filter((line) => line.includes("scores the sampled tokens again"));
      expect(rescored).toEqual([expect.stringMatching(/^note: .* differ by \d\.\de-\d+ at most$/)]);
    }),
  );

  it.live.each([
    ["throws", throwing, "Error: it broke"],
    ["never calls the model", mute, "it ended without a call to the endpoint"],
  ] as const)("says that an agent that %s cannot be trained, and why", ([, source, why]) =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const { isTrainable, lines } = yield* check(dir, { path: written(dir, "agent.mjs", source) });
      expect([isTrainable, lines.at(-1)]).toEqual([false, "this agent cannot be trained as it is"]);
      const fatal = lines.filter((line) => line.startsWith("fatal: "));
      expect(fatal).toEqual([expect.stringMatching(`^fatal: episodes 1 and 2 failed: .*${why}`)]);
    }),
  );

  it.live("notes that a command without agent.tasks has no tasks", () =>
    Effect.gen(function* () {
      const command = [process.execPath, "-e", "console.log(process.env.MILLRACE_TASK)"];
      const { lines } = yield* check(yield* temporaryFolder, { command });
      expect(lines).toContain("note: agent.tasks is not set: the task of each episode is null");
    }),
  );

  it.live.each([
    ["a module without a default export", "agent.mjs", "export const agent = 1;", "no default export"],
    ["tasks that do not parse", "tasks.jsonl", '{"a": 1}\n{oops', 'tasks.jsonl:2: no JSON: "{oops"'],
  ] as const)("refuses %s", ([, name, source, problem]) =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const path = written(dir, name, source);
      const agent = name === "agent.mjs" ? { path } : { command: [process.execPath], tasks: path };
      const failure = yield* Effect.flip(check(dir, agent));
      expect(failure).toMatchObject({ _tag: "BadInput", message: expect.stringContaining(problem) });
    }),
  );
});

/** Runs the command in this process, and returns its exit code. The command line ends with 2 for every bad input. */
const exitCode = Effect.fnUntraced(function* (agent: string) {
  const words = ["agent", "check", agent, "model.generator_threads=1", "agent.threads=1"];
  const { request } = yield* parse(words);
  if (request._tag !== "Task") return yield* Effect.die(`${request._tag} is no task`);
  const quiet = { ...globalThis.console, log: () => {} };
  return yield* request.work.pipe(
    Effect.provideService(Console.Console, quiet),
    Effect.provide(Stop.layerWithoutSignals),
    Effect.map(() => process.exitCode ?? 0),
    Effect.catchIf(
      (error) => error instanceof BadInput,
      () => Effect.succeed(2),
    ),
    Effect.ensuring(
      Effect.sync(() => {
        process.exitCode = undefined;
      }),
    ),
  );
});

describe("millrace agent check", () => {
  it.live("exits with 0 for an agent that can be trained, 1 for one that cannot, and 2 for bad input", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const trainable = yield* exitCode(join(packageRoot, "docs/examples/agents/lift.ts"));
      const untrainable = yield* exitCode(written(dir, "mute.mjs", mute));
      const bad = yield* exitCode(written(dir, "bad.mjs", "export default { tasks: [], run: () => ({ reward: 1 }) };"));
      expect([trainable, untrainable, bad]).toEqual([0, 1, 2]);
    }),
  );
});
