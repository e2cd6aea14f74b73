/** Evaluations of an agent whose calls a chat endpoint answers: in each dialect and protocol, beside presets, and through failures. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "@effect/vitest";
import { Console, Effect, Exit, Logger } from "effect";
import { describe, expect } from "vitest";
import { compare } from "../../pipelines/compare.ts";
import { evaluate } from "../../pipelines/evaluate.ts";
import { merge, type Tree } from "../../src/config/Tree.ts";
import { packageRoot } from "../../src/support/files/packageRoot.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { faults, json, type ReceivedRequest, type Script, says, standIn } from "../tools/endpoints/standIn.ts";
import { writeModel } from "./tiny.ts";

type Kind = "openai" | "anthropic";
type Blocks = readonly { readonly type: string; readonly content?: string }[];

const sumOf = ({ body }: ReceivedRequest): number => Number(body.messages[0]?.content.split(" ")[0]);

/** Calls the tool for the sum of the task, and then says what it gave. */
const adds: Readonly<Record<Kind, Script>> = {
  openai: (request, response) => {
    const last = request.body.messages.at(-1);
    if (last?.role === "tool") return says(response, { text: last.content, prompt: 80, tokens: 6 });
    const call = { name: "add", arguments: JSON.stringify({ a: sumOf(request), b: 1 }) };
    const tool_calls = [{ id: "theirs", type: "function", function: call }];
    json(response, 200, {
      choices: [{ message: { role: "assistant", content: null, tool_calls }, finish_reason: "tool_calls" }],
      usage: { prompt_tokens: 50, completion_tokens: 10 },
    });
  },
  anthropic: (request, response) => {
    const content: string | Blocks | undefined = request.body.messages.at(-1)?.content;
    const result = typeof content === "object" ? (content as Blocks).find(({ type }) => type === "tool_result") : null;
    if (result != null) {
      const usage = { input_tokens: 80, output_tokens: 6 };
      return json(response, 200, { content: [{ type: "text", text: result.content }], stop_reason: "end_turn", usage });
    }
    json(response, 200, {
      content: [{ type: "tool_use", id: "theirs", name: "add", input: { a: sumOf(request), b: 1 } }],
      stop_reason: "tool_use",
      usage: { input_tokens: 50, output_tokens: 10 },
    });
  },
};

/** A turn of a line, with the call that it is. */
interface Called {
  readonly call: { readonly number: number };
  readonly shown?: readonly { readonly content: string }[];
}

const path = join(packageRoot, "test/agents/fixtures/adder.ts");

const settings = (url: string, endpoint: Tree = {}, changes: Tree = {}): Tree => ({
  agent: { path, threads: 1 },
  evaluation: {
    endpoint: {
      kind: "openai",
      base_url: url,
      model: "adder",
      retry_wait_ms: 1,
      retries: 3,
      max_concurrency: 4,
      ...endpoint,
    },
  },
  es_manager: { val: { env_groups: 6, n_groups: [6], tags: ["Agent"] } },
  rollout: { max_turn: 4, response_length: 64 },
  ...changes,
});

const run = Effect.fnUntraced(function* (dir: string, changes: Tree, resume: string | null = null) {
  const lines: string[] = [];
  const say = (line: string) => void lines.push(line);
  const warnings: string[] = [];
  const logger = Logger.make(({ message }) => void warnings.push(String(message)));
  const exit = yield* Effect.exit(
    Effect.provideService(evaluate({ config: tinyConfig(dir, changes), resume }), Console.Console, {
      ...globalThis.console,
      log: say,
      error: say,
    }),
  ).pipe(Effect.provide(Logger.layer([logger])));
  return { exit, lines, warnings, failure: Exit.isFailure(exit) ? String(exit.cause) : null };
});

const folderIn = Effect.fnUntraced(function* (dir: string) {
  const parent = join(dir, "runs", "tiny-evaluate");
  const [name = ""] = yield* Effect.promise(() => readdir(parent));
  return join(parent, name);
});

const read = (...parts: readonly string[]) => Effect.promise(() => readFile(join(...parts), "utf8"));
const linesOf = (text: string) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
const evaluationIn = Effect.fnUntraced(function* (folder: string) {
  return JSON.parse(yield* read(folder, "summary.json")).evaluation;
});
const episodesIn = Effect.fnUntraced(function* (folder: string) {
  const lines = linesOf(yield* read(folder, "episodes.jsonl"));
  return lines.toSorted((a, b) => a.metadata.seed - b.metadata.seed);
});

describe("an agent by an endpoint", () => {
  it.live.each(["openai", "anthropic"] as const)(
    "plays in every dialect by %s, its tools and its sampling forwarded",
    (kind) =>
      Effect.gen(function* () {
        const dir = yield* temporaryFolder;
        const server = yield* standIn(adds[kind]);
        const { exit } = yield* run(dir, settings(server.url, { kind }));
        expect(Exit.isSuccess(exit)).toBe(true);

        const folder = yield* folderIn(dir);
        expect(yield* evaluationIn(folder)).toMatchObject({
          ...{ planned: 6, finished: 6, failed: 0, stopped: null, kind, requests: 12, retries: 0 },
          tokens: { prompt: 6 * 130, reply: 6 * 16, lost: 0 },
          success: { mean: 1 },
        });
        const episodes = yield* episodesIn(folder);
        for (const [at, { messages, metadata, turns }] of episodes.entries()) {
          const seed = 123 + at;
          expect(metadata).toMatchObject({ seed, tag: "Agent", total_reward: 1, "Agent/tool_calls": 1 });
          expect(messages).toEqual([
            { role: "user", content: `${seed} + 1` },
            { role: "assistant", content: `add({"a":${seed},"b":1})` },
            { role: "user", content: `tool: ${seed + 1}` },
            { role: "assistant", content: String(seed + 1) },
          ]);
          expect(turns).toMatchObject([
            { actions: ["add"], reward: 0, prompt_tokens: 50, tokens: 10, call: { number: 0, parent: null } },
            { actions: ["reply"], reward: 1, prompt_tokens: 80, tokens: 6, call: { number: 1, parent: 0 } },
          ]);
        }
        const records = linesOf(yield* read(folder, "trajectories.jsonl"));
        expect(records.map(({ turns }) => turns.map(({ call }: { call: { parent: unknown } }) => call.parent))).toEqual(
          Array.from({ length: 6 }, () => [null, 0]),
        );
        for (const { body } of server.asked) {
          expect(body).toMatchObject({ model: "adder", temperature: 0.25, top_p: 0.5, max_tokens: 40 });
          expect(body.tools).toEqual([
            kind === "openai"
              ? expect.objectContaining({ type: "function", function: expect.objectContaining({ name: "add" }) })
              : expect.objectContaining({ name: "add", input_schema: expect.anything() }),
          ]);
        }
      }),
  );

  it.live("is sampled as the run file says, where it says so", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const server = yield* standIn(adds.openai);
      const { warnings } = yield* run(
        dir,
        settings(server.url, { temperature: 0, omit: ["stop"], extra_body: { seed: 3 } }),
      );
      expect(server.asked).toHaveLength(12);
      for (const { body } of server.asked) expect(body).toMatchObject({ temperature: 0, top_p: 0.5, seed: 3 });
      expect(server.asked.filter(({ body }) => "stop" in body)).toEqual([]);
      const wishes = warnings.map((warning) => /calls ask for (.*); sampling is the run file's/.exec(warning)?.[1]);
      expect(wishes.toSorted()).toEqual(["seed 7", 'stop ["\\n\\n"]', "temperature 0.25"]);
    }),
  );

  it.live("plays beside a preset of the run file", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const server = yield* standIn((request, response) =>
        "tools" in request.body
          ? adds.openai(request, response)
          : says(response, { text: "<think>on</think><answer>Down</answer>" }),
      );
      const val = { env_groups: 6, n_groups: [3, 3], tags: ["FrozenLake", "Agent"] };
      yield* run(dir, settings(server.url, {}, { es_manager: { val } }));
      const episodes = yield* episodesIn(yield* folderIn(dir));
      expect(episodes.map(({ metadata: { seed, tag } }) => [seed, tag])).toEqual([
        ...[123, 124, 125].map((seed) => [seed, "FrozenLake"]),
        ...[126, 127, 128].map((seed) => [seed, "Agent"]),
      ]);
      expect(episodes.slice(3).map(({ metadata }) => metadata.total_reward)).toEqual([1, 1, 1]);
    }),
  );

  it.live("plays beside a checkpoint in a list of models, and the two are compared", () =>
    Effect.gen(function* () {
      const dir = yield* Effect.tap(temporaryFolder, writeModel);
      const server = yield* standIn((_, response) => says(response, { text: "go" }));
      const agent = { path: join(packageRoot, "test/agents/fixtures/length.ts"), threads: 1 };
      const models = [{ name: "remote" }, { name: "local", path: join(dir, "model") }];
      const changes = settings(server.url, {}, { agent, rollout: { response_length: 8 } });
      const { exit } = yield* run(dir, merge(changes, { evaluation: { models } }));
      expect(Exit.isSuccess(exit)).toBe(true);
      const compared = JSON.parse((yield* compare({ runs: [yield* folderIn(dir)], json: true })).join("\n"));
      expect(compared.pairs).toMatchObject([{ against: "local", name: "remote", instances: 6, unmatched: 0 }]);
    }),
  );

  it.live("is not told of attempts that failed, and waits for those that are made again", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const kinds = Object.values(faults);
      const server = yield* standIn((request, response) =>
        request.nth % 3 === 0 ? kinds[(request.nth / 3) % kinds.length]?.(response) : adds.openai(request, response),
      );
      yield* run(dir, settings(server.url, { retries: 20 }));
      const { finished, requests, retries, success } = yield* evaluationIn(yield* folderIn(dir));
      expect({ finished, calls: requests - retries, mean: success.mean }).toEqual({ finished: 6, calls: 12, mean: 1 });
      expect(retries).toBeGreaterThan(0);
    }),
  );

  it.live("has no reward where the endpoint refuses a call, whatever it makes of it, and plays it on a resume", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const refusal = { error: { message: "no such tool", type: "invalid_request_error" } };
      const server = yield* standIn((request, response) =>
        sumOf(request) % 3 === 0 ? json(response, 400, refusal) : adds.openai(request, response),
      );
      yield* run(dir, settings(server.url));
      const folder = yield* folderIn(dir);
      expect(yield* evaluationIn(folder)).toMatchObject({ finished: 4, failed: 2, success: { mean: 1 } });
      const failures = linesOf(yield* read(folder, "failures.jsonl"));
      expect(failures.map(({ seed, reason }) => [seed, reason]).toSorted()).toEqual([
        [123, "rejected"],
        [126, "rejected"],
      ]);
      const whole = yield* standIn(adds.openai);
      yield* run(dir, settings(whole.url), folder);
      expect(whole.asked).toHaveLength(4);
      expect(yield* evaluationIn(folder)).toMatchObject({ finished: 6, failed: 0, success: { mean: 1 } });
    }),
  );

  it.live("fails by its own cause where it makes no call", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const server = yield* standIn(adds.openai);
      const agent = { command: [process.execPath, "-e", "console.log(JSON.stringify({ reward: 1 }))"] };
      yield* run(dir, settings(server.url, {}, { agent }));
      const folder = yield* folderIn(dir);
      expect(yield* evaluationIn(folder)).toMatchObject({ finished: 0, failed: 6, requests: 0 });
      const reasons = linesOf(yield* read(folder, "failures.jsonl")).map(({ reason }) => reason);
      expect(reasons).toEqual(Array.from({ length: 6 }, () => "agent_error"));
    }),
  );

  it.live("is cut, and not failed, where a chat is longer than the endpoint takes", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const error = { message: "maximum context length is 40 tokens", code: "context_length_exceeded" };
      const server = yield* standIn((request, response) =>
        request.body.messages.length > 1 ? json(response, 400, { error }) : adds.openai(request, response),
      );
      yield* run(dir, settings(server.url));
      const episodes = yield* episodesIn(yield* folderIn(dir));
      expect(episodes.map(({ metadata: { outcome, total_reward } }) => [outcome, total_reward])).toEqual(
        Array.from({ length: 6 }, () => ["context", 0]),
      );
    }),
  );

  it.live("is told of replies that were cut, kept back or not counted", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const ends = ["length", "content_filter", "stop"];
      const server = yield* standIn(({ nth }, response) =>
        json(response, 200, { choices: [{ message: { content: "go" }, finish_reason: ends[nth] }] }),
      );
      const agent = { path: join(packageRoot, "test/agents/fixtures/length.ts"), threads: 1 };
      const val = { env_groups: 3, n_groups: [3], tags: ["Agent"] };
      yield* run(dir, settings(server.url, { max_concurrency: 1 }, { agent, es_manager: { val } }));
      const episodes = yield* episodesIn(yield* folderIn(dir));
      expect(episodes.map(({ turns: [{ finish, prompt_tokens, tokens }] }) => [finish, prompt_tokens, tokens])).toEqual(
        [
          ["length", null, null],
          ["filtered", null, null],
          ["stop", null, null],
        ],
      );
    }),
  );

  it.live("stops within its budget, and goes on under a larger one", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const server = yield* standIn(adds.openai);
      yield* run(dir, settings(server.url, { budget_tokens: 600, max_concurrency: 1 }));
      const folder = yield* folderIn(dir);
      const { finished, failed, stopped, tokens } = yield* evaluationIn(folder);
      expect(tokens.prompt + tokens.reply + tokens.lost).toBeLessThanOrEqual(600);
      expect({ failed, reason: stopped.reason }).toEqual({ failed: 0, reason: "budget" });
      expect(finished).toBeGreaterThan(0);
      expect(finished).toBeLessThan(6);
      yield* run(dir, settings(server.url, { budget_tokens: 100_000 }), folder);
      expect((yield* episodesIn(folder)).map(({ metadata }) => metadata.seed)).toEqual([123, 124, 125, 126, 127, 128]);
    }),
  );

  it.live("ends where the endpoint refuses the key", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const server = yield* standIn((_, response) => json(response, 401, { error: { message: "bad key" } }));
      const { failure } = yield* run(dir, settings(server.url));
      expect(failure).toContain("evaluation.endpoint: ");
      expect(failure).toContain("status 401");
    }),
  );

  it.live("makes calls that are a tree, each told with what it was shown", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const server = yield* standIn(({ nth }, response) =>
        says(response, { text: `reply ${nth}`, prompt: 9, tokens: 2 }),
      );
      const agent = { path: join(packageRoot, "test/agents/fixtures/forks.ts"), threads: 1 };
      const val = { env_groups: 1, n_groups: [1], tags: ["Agent"] };
      yield* run(dir, settings(server.url, { max_concurrency: 1 }, { agent, es_manager: { val } }));
      const folder = yield* folderIn(dir);
      const [{ turns }] = yield* episodesIn(folder);
      const shown = turns.map((turn: Called) => [
        turn.call.number,
        turn.shown?.filter((_, at) => at % 2 === 1).map(({ content }) => content) ?? null,
      ]);
      // Calls 0 and 2 are samples that nobody went on from.
      expect(shown.toSorted(([a]: [number], [b]: [number]) => a - b)).toEqual([
        [1, null],
        [3, null],
        [4, null],
        [5, ["reply 1"]],
        [6, ["reply 1", "reply 5"]],
        [7, []],
        [8, []],
      ]);
      expect((yield* evaluationIn(folder)).tokens).toMatchObject({ prompt: 7 * 9, reply: 7 * 2, lost: 2 * 11 });
      const records = linesOf(yield* read(folder, "trajectories.jsonl"));
      const branch = records.find(({ turns: [first] }) => first.call.number === 5);
      expect(branch.turns[0].prompt).toEqual(turns.find(({ call }: Called) => call.number === 5).shown);
    }),
  );
});
