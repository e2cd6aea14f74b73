/** Trainings of agents over real threads: the same ids as a run without an agent, and what becomes of episodes that fail. */

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Effect } from "effect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rolloutHandler } from "../../src/agents/host/rolloutHandler.ts";
import type { Tree } from "../../src/config/Tree.ts";
import { readRecord } from "../../src/observe/record/readRecord.ts";
import { packageRoot } from "../../src/support/files/packageRoot.ts";
import { freePortAbove } from "../../src/support/http/freePort.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { train, writeModel } from "../pipelines/tiny.ts";
import lengthAgent from "./fixtures/length.ts";
import { served } from "./host/servedHandler.ts";

/** Milliseconds on a machine that others use too. */
const patience = 240_000;

let dir = "";
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "millrace-agents-"));
  await Effect.runPromise(writeModel(dir));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const fixture = (name: string): string => fileURLToPath(new URL(`./fixtures/${name}.ts`, import.meta.url));

/** The same run with an agent in place of its environments. */
const agentRun = (path: string, more: Tree = {}): Tree => ({
  agent: { path, ...(more.agent as Tree | undefined) },
  es_manager: { train: { tags: ["Agent"] }, val: { tags: ["Agent"] } },
});

/** Trains, and returns the lines of a log of the run. */
const linesOf = async (name: string, file: string, changes: Tree): Promise<readonly Tree[]> => {
  const config = tinyConfig(dir, changes);
  await Effect.runPromise(train({ config: { ...config, run: { ...config.run, name } }, resume: null }));
  const runs = join(dir, "runs", name);
  const text = readFileSync(join(runs, readdirSync(runs).at(-1) ?? "", file), "utf8");
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
};

describe("an agent that plays as a run without it", () => {
  it("samples the same ids with the same log-probabilities in sync mode", { timeout: patience }, async () => {
    const shape = (tag: string): Tree => ({
      model: { path: join(packageRoot, "config/models/nano"), generator_threads: 1 },
      trainer: { total_training_steps: 2 },
      rollout: { template: "compact", response_length: 40, max_model_len: 640, max_turn: 5 },
      es_manager: { train: { tags: [tag] }, val: { tags: [tag], seed: 900_000 } },
    });
    const idsOf = (lines: readonly Tree[]) =>
      lines.map(({ group, member, reward, step, turns }) => ({
        ...{ group, member, step, reward },
        turns: (turns as readonly Tree[]).map(({ ids, mu, prompt_ids }) => ({ ids, mu, prompt_ids })),
      }));
    const builtIn = idsOf(await linesOf("built-in", "trajectories.jsonl", shape("FrozenLake")));
    const agent = idsOf(
      await linesOf("agent", "trajectories.jsonl", {
        agent: { path: join(packageRoot, "docs/examples/agents/lake/agent.ts") },
        ...shape("Agent"),
      }),
    );
    expect(builtIn.length).toBeGreaterThan(0);
    expect(builtIn.some(({ turns }) => turns.length > 1)).toBe(true);
    expect(agent).toEqual(builtIn);
  });
});

describe("an agent whose calls are a tree", () => {
  it("is recorded with the tree, and with the samples that nobody went on from", { timeout: patience }, async () => {
    const shape: Tree = {
      model: { path: join(packageRoot, "config/models/nano"), generator_threads: 1 },
      trainer: { total_training_steps: 1 },
      rollout: { template: "compact", response_length: 40, max_model_len: 640 },
    };
    const lines = await linesOf("forks", "trajectories.jsonl", { ...shape, ...agentRun(fixture("forks")) });
    const records = lines.flatMap((line) => readRecord(JSON.stringify(line)) ?? []);
    expect(records.length).toBe(lines.length);
    const [first, ...others] = [
      ...Map.groupBy(records, ({ group, member, step }) => `${step} ${group} ${member}`).values(),
    ];
    expect(others.length).toBeGreaterThan(2);
    const calls = (first ?? [])
      .flatMap(({ discarded = false, turns }) => turns.map(({ call }) => ({ ...call, discarded })))
      .toSorted((a, b) => Number(a.number) - Number(b.number));
    expect(calls.map(({ discarded, fork, number, parent }) => [number, parent, fork, discarded])).toEqual([
      [0, null, null, true],
      [1, null, null, false],
      [2, null, null, true],
      [3, 1, null, false],
      [4, 3, null, false],
      [5, 1, null, false],
      [6, 5, null, false],
      [7, null, "compaction", false],
      [8, null, "other_agent", false],
    ]);
    // Credit is of trained tokens alone.
    for (const { discarded, turns, verdict } of first ?? [])
      for (const { advantages, ids } of turns)
        expect(advantages?.length).toBe(discarded !== true && verdict === "kept" ? ids.length : undefined);
  });
});

describe("the example of docs/agents.md", () => {
  it("plays two calls an episode, each a direction or none", { timeout: patience }, async () => {
    const lines = await linesOf("lift", "trajectories.jsonl", {
      agent: { path: join(packageRoot, "docs/examples/agents/lift.ts") },
      model: { path: join(packageRoot, "config/models/nano"), generator_threads: 1 },
      trainer: { total_training_steps: 1 },
      rollout: { template: "compact", response_length: 40, max_model_len: 640 },
      es_manager: { train: { tags: ["Agent"] }, val: { tags: ["Agent"] } },
    });
    expect(lines.length).toBeGreaterThan(1);
    for (const { outcome, reward, turns } of lines) {
      expect([outcome, turns]).toEqual([expect.objectContaining({ _tag: "Done" }), expect.any(Array)]);
      expect((turns as readonly Tree[]).length).toBe(2);
      expect([0, 0.5, 1]).toContain(reward);
    }
  });
});

/** A program that opens each episode that waits, and earns the tokens of its reply. */
interface OutsideProgram {
  /** Status codes of all answers that it got. */
  readonly statuses: ReadonlySet<number>;
  /** Lets it open no more episodes, and waits until those that it plays have ended. */
  readonly end: () => Promise<void>;
}

/** Opens at most so many episodes, as soon as the endpoint listens. */
const outsideProgram = (port: number, most = Number.POSITIVE_INFINITY): OutsideProgram => {
  const statuses = new Set<number>();
  const post = async (path: string, body: unknown, key = "") => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
    const url = `http://127.0.0.1:${port}/v1${path}`;
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
    statuses.add(response.status);
    return { status: response.status, body: (await response.json()) as Tree };
  };
  let isOver = false;
  const play = async (key: string): Promise<void> => {
    const messages = [{ role: "user", content: "go" }];
    const answer = await post("/chat/completions", { model: "policy", messages }, key);
    await post("/episode/end", { reward: (answer.body.usage as Tree).completion_tokens }, key);
  };
  const playAll = async (): Promise<void> => {
    const episodes: Promise<void>[] = [];
    while (episodes.length < most && !isOver) {
      const opening = await post("/episodes", {}).catch(() => null);
      if (opening?.status === 200) episodes.push(play(String(opening.body.apiKey)));
      else await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await Promise.all(episodes);
  };
  const playing = playAll();
  return {
    statuses,
    end: () => {
      isOver = true;
      return playing;
    },
  };
};

const endAll = (programs: readonly OutsideProgram[]) => Promise.all(programs.map(({ end }) => end()));

describe("an agent that runs elsewhere", () => {
  /** One step of training; the reward of each episode is the length of its reply. */
  const rewardsOf = async (name: string, agent: Tree): Promise<readonly Tree[]> =>
    linesOf(name, "trajectories.jsonl", { ...agentRun(""), agent, trainer: { total_training_steps: 1 } });

  const expectPlayed = (lines: readonly Tree[]): void => {
    expect(lines.length).toBeGreaterThan(1);
    for (const { outcome, reward, turns } of lines) {
      expect([outcome, reward]).toEqual([expect.objectContaining({ _tag: "Done" }), expect.any(Number)]);
      expect((turns as readonly Tree[]).length).toBe(1);
    }
    expect(lines.some(({ reward }) => reward !== 0)).toBe(true);
  };

  it("plays each episode in a process of its own", { timeout: patience }, async () => {
    const lines = await rewardsOf("processes", { path: fixture("length"), isolate: "process", processes: 4 });
    expectPlayed(lines);
    const pids = lines.map(({ turns }) => JSON.stringify((turns as readonly Tree[])[0]).match(/"pid":(\d+)/)?.[1]);
    expect(new Set(pids).size).toBe(lines.length);
    expect(pids).not.toContain(String(process.pid));
  });

  it("is a command in any language", { timeout: patience }, async () => {
    const tasks = join(dir, "commands.jsonl");
    writeFileSync(tasks, '"go"\n');
    const command = [process.execPath, fixture("length").replace(/ts$/, "mjs")];
    expectPlayed(await rewardsOf("commands", { command, tasks, processes: 4 }));
  });

  it("is mounted in a server of the user's", { timeout: patience }, () =>
    served(rolloutHandler(lengthAgent), async (url) => expectPlayed(await rewardsOf("server", { url }))),
  );

  it("opens its episodes from outside, and waits where none is to be played", { timeout: patience }, async () => {
    const port = (await freePortAbove("127.0.0.1", 20_000)) ?? 0;
    const programs = [outsideProgram(port), outsideProgram(port)];
    const lines = await rewardsOf("outside", { outside: true, port }).finally(() => endAll(programs));
    expectPlayed(lines);
    const statuses = programs.flatMap(({ statuses }) => [...statuses]);
    expect([...new Set(statuses)].toSorted()).toEqual([200, 429]);
  });

  it("holds up no window by a group that no program opens", { timeout: patience }, async () => {
    const port = (await freePortAbove("127.0.0.1", 20_000)) ?? 0;
    const program = outsideProgram(port, 4);
    const events = await linesOf("abandoned", "events.jsonl", {
      ...agentRun("", { agent: { outside: true, port, open_seconds: 2 } }),
      trainer: { total_training_steps: 1 },
    }).finally(() => endAll([program]));
    const tagged = (tag: string) => events.filter(({ _tag }) => _tag === tag);
    expect(tagged("Finished")).toMatchObject([
      { group: 0, failed: false },
      { group: 1, failed: true, reason: "never_opened: no program opened it in 2 s" },
    ]);
    expect(tagged("Updated")).toMatchObject([{ groups: [0] }]);
    expect(tagged("StepClosed")).toMatchObject([{ groups: [0, 1] }]);
  });

  it("is refused before the run where its port is taken", { timeout: patience }, async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const run = train({ config: tinyConfig(dir, { ...agentRun(""), agent: { outside: true, port } }), resume: null });
    const error = await Effect.runPromise(Effect.flip(run));
    server.close();
    expect(error).toMatchObject({
      _tag: "BadInput",
      message: expect.stringMatching(new RegExp(`^agent\\.port: ${port}: in use on 127\\.0\\.0\\.1; nearest: \\d+$`)),
    });
  });
});

describe("an agent that fails", () => {
  it("loses the episodes that failed, each with its cause, and trains on the others", {
    timeout: patience,
  }, async () => {
    const changes = agentRun(fixture("faults"), { agent: { seconds: 6, blocked_seconds: 3, threads: 1 } });
    const events = await linesOf("faults", "events.jsonl", {
      ...changes,
      pipeline: { mode: "async", max_staleness: 1 },
    });
    const finished = events.filter(({ _tag }) => _tag === "Finished");
    const causes = JSON.stringify(finished);
    expect(finished.length).toBeGreaterThan(3);
    for (const reason of ["agent_error", "agent_crashed", "agent_timeout"]) expect(causes).toContain(reason);
  });

  it("has the groups asked for again that its blocked thread cost, where refill is on", {
    timeout: patience,
  }, async () => {
    const path = join(dir, "blocks.ts");
    const length = pathToFileURL(fixture("length")).href;
    writeFileSync(
      path,
      `import length from "${length}";
export default {
  tasks: length.tasks,
  run: async (context) => {
    if (context.episode.group === 0 && context.episode.member === 0) for (;;);
    return length.run(context);
  },
};`,
    );
    const events = await linesOf("refill", "events.jsonl", {
      ...agentRun(path, { agent: { threads: 1, blocked_seconds: 2 } }),
      trainer: { total_training_steps: 1 },
      filter: { include_zero: true, refill: { target: 2 } },
    });
    const tagged = (tag: string) => events.filter(({ _tag }) => _tag === tag);
    const lost = tagged("Finished").filter(({ failed }) => failed === true);
    expect(lost).toMatchObject(
      [0, 1].map((group) => ({ group, reason: "agent_crashed: its thread was blocked for 2 s" })),
    );
    const refilled = tagged("Admitted").filter(({ refill }) => refill !== undefined);
    expect(refilled).toMatchObject([
      { window: 0, refill: 1 },
      { window: 0, refill: 1 },
    ]);
    expect(tagged("Updated")).toMatchObject([{ groups: refilled.map(({ group }) => group) }]);
  });

  it("ends a run whose first episodes all fail, in a sentence", { timeout: patience }, async () => {
    const path = join(dir, "silent.ts");
    writeFileSync(path, "export default { tasks: [1], run: () => ({ reward: 1 }) };");
    const changes = { ...agentRun(path), trainer: { total_training_steps: 20 } };
    const error = await Effect.runPromise(Effect.flip(train({ config: tinyConfig(dir, changes), resume: null })));
    expect(error).toMatchObject({
      _tag: "BadInput",
      message: expect.stringMatching(
        /^agent: the first 32 episodes all failed, the last by agent_error: it ended without a call/,
      ),
    });
  });

  it.each([
    ["has no default export", "export const agent = 1;", /no default export/],
    ["is no agent", "export default { run: 1 };", /the default export is no agent/],
    [
      "has tasks that are no JSON",
      'export default { tasks: "./tasks.jsonl", run: () => ({ reward: 1 }) };',
      /tasks: .*tasks\.jsonl:2: no JSON/,
    ],
    [
      "has no tasks file",
      'export default { tasks: "./none.jsonl", run: () => ({ reward: 1 }) };',
      /tasks: .*none\.jsonl: no such file/,
    ],
  ])("is refused before the run where its module %s", { timeout: patience }, async (_, source, message) => {
    writeFileSync(join(dir, "tasks.jsonl"), '{"a": 1}\n{"a"\n');
    const path = join(dir, `agent-${Math.abs(source.length)}.ts`);
    writeFileSync(path, source);
    const run = train({ config: tinyConfig(dir, agentRun(path)), resume: null });
    const error = await Effect.runPromise(Effect.flip(run));
    expect(error).toMatchObject({ _tag: "BadInput", message: expect.stringMatching(message) });
  });
});
