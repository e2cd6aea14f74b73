/** Evaluations by a chat endpoint that fails in every way: nothing that finished is lost, nothing is played twice. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "@effect/vitest";
import { Console, Effect, Exit } from "effect";
import { describe, expect } from "vitest";
import { compare } from "../../pipelines/compare.ts";
import { evaluate } from "../../pipelines/evaluate.ts";
import { leaderboard } from "../../pipelines/leaderboard.ts";
import type { Tree } from "../../src/config/Tree.ts";
import { noAttribution } from "../../src/observe/watch/store/RunSnapshot.ts";
import { RunStore } from "../../src/observe/watch/store/RunStore.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { faults, type Script, says, standIn } from "../tools/endpoints/standIn.ts";
import { writeModel } from "./tiny.ts";

const replies = ["Down", "Right", "Down", "Right"];
/** Walks the lake as best it can without looking. */
const walk: Script = ({ body }, response) => {
  const turns = body.messages.filter(({ role }) => role === "assistant").length;
  says(response, { text: `<think>on</think><answer>${replies[turns % 4]}</answer>`, prompt: 50, tokens: 10 });
};

const settings = (url: string, endpoint: Tree = {}, evaluation: Tree = {}): Tree => ({
  evaluation: {
    endpoint: {
      kind: "openai",
      base_url: url,
      model: "walker",
      retry_wait_ms: 1,
      retries: 3,
      max_concurrency: 4,
      ...endpoint,
    },
    ...evaluation,
  },
  es_manager: { val: { env_groups: 12, n_groups: [12] } },
  rollout: { template: "ragen", max_turn: 4 },
});

const run = Effect.fnUntraced(function* (dir: string, changes: Tree, resume: string | null = null) {
  const lines: string[] = [];
  const say = (line: string) => void lines.push(line);
  const exit = yield* Effect.exit(
    Effect.provideService(evaluate({ config: tinyConfig(dir, changes), resume }), Console.Console, {
      ...globalThis.console,
      log: say,
      error: say,
    }),
  );
  return { exit, lines, failure: Exit.isFailure(exit) ? String(exit.cause) : null };
});

const newest = Effect.fnUntraced(function* (dir: string) {
  const parent = join(dir, "runs", "tiny-evaluate");
  const names = yield* Effect.promise(() => readdir(parent));
  return join(parent, names.sort().at(-1) ?? "");
});

const read = (...path: readonly string[]) => Effect.promise(() => readFile(join(...path), "utf8"));
const linesOf = (text: string) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
const seedsIn = Effect.fnUntraced(function* (folder: string) {
  return linesOf(yield* read(folder, "episodes.jsonl")).map(({ metadata }) => metadata.seed);
});
const instances = Array.from({ length: 12 }, (_, i) => 123 + i);
const ascending = (seeds: readonly number[]) => seeds.toSorted((a, b) => a - b);

describe("an evaluation by an endpoint", () => {
  it.live("plays every instance through faults of every kind", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const kinds = Object.values(faults);
      const server = yield* standIn((request, response) =>
        request.nth % 3 === 0 ? kinds[(request.nth / 3) % kinds.length]?.(response) : walk(request, response),
      );
      const { exit, lines } = yield* run(dir, settings(server.url, { retries: 20 }));
      expect(Exit.isSuccess(exit)).toBe(true);
      const folder = yield* newest(dir);
      expect(ascending(yield* seedsIn(folder))).toEqual(instances);
      const summary = JSON.parse(yield* read(folder, "summary.json"));
      expect(summary["val-env/FrozenLake/success"]).toBe(summary.evaluation.success.mean);
      expect(summary.evaluation).toMatchObject({ planned: 12, finished: 12, failed: 0, stopped: null, kind: "openai" });
      expect(summary.evaluation.requests - summary.evaluation.retries).toBe(
        linesOf(yield* read(folder, "episodes.jsonl")).reduce((sum, { turns }) => sum + turns.length, 0),
      );
      expect(lines).toContain(`12 of 12 episodes in ${join(folder, "episodes.jsonl")}`);
    }),
  );

  it.live("keeps what finished where the endpoint dies, and plays the rest when it is back", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const mortal = yield* standIn((request, response) =>
        request.nth < 20 ? walk(request, response) : void mortal.die(),
      );
      const died = yield* run(dir, settings(mortal.url, { failures_in_a_row: 2, retries: 1 }));
      expect(died.failure).toContain("2 requests in a row came to nothing");
      const folder = yield* newest(dir);
      const before = yield* read(folder, "episodes.jsonl");
      const finished = linesOf(before).length;
      expect(finished).toBeGreaterThan(0);
      expect(finished).toBeLessThan(12);
      expect(JSON.parse(yield* read(folder, "summary.json")).evaluation).toMatchObject({
        finished,
        stopped: { reason: "circuit" },
      });
      expect(died.lines).toContain(`millrace evaluate --resume ${folder} plays the rest`);

      const back = yield* standIn(walk);
      const { exit } = yield* run(dir, settings(back.url), folder);
      expect(Exit.isSuccess(exit)).toBe(true);
      const after = yield* read(folder, "episodes.jsonl");
      expect(after.startsWith(before)).toBe(true);
      expect(ascending(yield* seedsIn(folder))).toEqual(instances);
      expect(JSON.parse(yield* read(folder, "summary.json")).evaluation).toMatchObject({ finished: 12, stopped: null });
    }),
  );

  it.live("writes trajectories that the page reads, those of a sitting that was killed too", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const mortal = yield* standIn((request, response) =>
        request.nth < 20 ? walk(request, response) : void mortal.die(),
      );
      yield* run(dir, settings(mortal.url, { failures_in_a_row: 2, retries: 1 }));
      const folder = yield* newest(dir);
      // As a kill between the two files leaves it.
      yield* Effect.promise(() => writeFile(join(folder, "trajectories.index.jsonl"), ""));
      const back = yield* standIn(walk);
      yield* run(dir, settings(back.url), folder);
      const store = new RunStore({ id: folder, folder, attribute: noAttribution });
      const everything = { from: 0, to: 9, split: null, tag: null, success: null, verdict: null, offset: 0, limit: 99 };
      const page = yield* Effect.promise(() => store.episodes(everything));
      expect(ascending(page.episodes.map(({ seed }) => seed))).toEqual(instances);
      expect(page.episodes.every(({ tokens, turns }) => tokens === 10 * turns)).toBe(true);
      const [text = ""] = yield* Effect.promise(() => store.group("val", 0, 0));
      const record = JSON.parse(text);
      expect(record).toMatchObject({ seed: 123, split: "val" });
      expect(record.turns[0]).toMatchObject({ ids: [], finish: "stop", counted: { prompt: 50, reply: 10 } });
      // The state alone, which the page can draw; what was sent has the texts around it.
      expect(record.messages[0].content).not.toContain("actions left");
      expect(record.turns[0].prompt.at(-1).content).toContain(record.messages[0].content);
      expect((yield* Effect.promise(() => store.card())).state).toBe("completed");
    }),
  );

  it.live("plays in a turn-level context, with summaries that count", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const server = yield* standIn(walk);
      const context = { context: "single_turn", max_context_window: 1, summary: "policy", summary_length: 33 };
      const changes = { ...settings(server.url), rollout: { template: "ragen", max_turn: 3, ...context } };
      const { exit } = yield* run(dir, changes);
      expect(Exit.isSuccess(exit)).toBe(true);
      const folder = yield* newest(dir);
      const lines = linesOf(yield* read(folder, "episodes.jsonl"));
      expect(server.asked.every(({ body }) => body.messages.length === 2)).toBe(true);
      expect(server.asked.filter(({ body }) => body.max_tokens === 33).length).toBe(
        lines.reduce((sum, { summaries = [] }) => sum + summaries.length, 0),
      );
      const { evaluation } = JSON.parse(yield* read(folder, "summary.json"));
      expect(evaluation.tokens).toMatchObject({ reply: 10 * server.asked.length, lost: 0 });
    }),
  );

  it.live("does not play again what is finished", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const server = yield* standIn(walk);
      yield* run(dir, settings(server.url));
      const requestCount = server.asked.length;
      yield* run(dir, settings(server.url), yield* newest(dir));
      expect(server.asked.length).toBe(requestCount);
    }),
  );

  it.live("is not gone on with under other conditions", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const server = yield* standIn(walk);
      yield* run(dir, settings(server.url));
      const folder = yield* newest(dir);
      const { failure } = yield* run(
        dir,
        { ...settings(server.url), rollout: { template: "compact", max_turn: 4 } },
        folder,
      );
      expect(failure).toContain("the template, its texts or a rule of a turn is not as the evaluation began");
      const other = yield* run(dir, settings(server.url, { model: "runner" }), folder);
      expect(other.failure).toContain("the model is not as the evaluation began");
    }),
  );

  it.live("does not go on in the folder of a training", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const server = yield* standIn(walk);
      yield* Effect.promise(async () => {
        await writeFile(join(dir, "config.yaml"), "");
        await writeFile(join(dir, "metrics.jsonl"), "");
      });
      const { failure } = yield* run(dir, settings(server.url), dir);
      expect(failure).toContain("a training run; millrace evaluate --config-name NAME");
      expect(server.asked).toHaveLength(0);
    }),
  );

  it.live("stops within its budget, says so, and goes on under a larger one", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const server = yield* standIn(walk);
      const budget = 1_500;
      const { exit, lines } = yield* run(dir, settings(server.url, { budget_tokens: budget, max_tokens: 20 }));
      expect(Exit.isSuccess(exit)).toBe(true);
      const folder = yield* newest(dir);
      const { evaluation } = JSON.parse(yield* read(folder, "summary.json"));
      const { lost, prompt, reply } = evaluation.tokens;
      expect(prompt + reply + lost).toBeLessThanOrEqual(budget);
      expect(evaluation.finished).toBeGreaterThan(0);
      expect(evaluation.finished).toBeLessThan(12);
      expect(evaluation.stopped.reason).toBe("budget");
      expect(lines.some((line) => line.startsWith("stopped: "))).toBe(true);
      yield* run(dir, settings(server.url, { budget_tokens: 100_000, max_tokens: 20 }), folder);
      expect(ascending(yield* seedsIn(folder))).toEqual(instances);
    }),
  );

  it.live("writes the key nowhere", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      process.env.MILLRACE_TEST_KEY = "sk-do-not-tell";
      const server = yield* standIn((request, response) =>
        request.nth === 0 ? faults.broken(response) : walk(request, response),
      );
      const { lines } = yield* run(dir, settings(server.url, { api_key_env: "MILLRACE_TEST_KEY" }));
      expect(server.asked[0]?.headers.authorization).toBe("Bearer sk-do-not-tell");
      const folder = yield* newest(dir);
      const files = yield* Effect.promise(() => readdir(folder, { recursive: true, withFileTypes: true }));
      for (const file of files.filter((entry) => entry.isFile())) {
        expect(yield* read(file.parentPath, file.name)).not.toContain("sk-do-not-tell");
      }
      expect(lines.join("\n")).not.toContain("sk-do-not-tell");
    }),
  );

  it.live("asks for the key before anything is played", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const { failure } = yield* run(dir, settings("http://127.0.0.1:9", { api_key_env: "MILLRACE_NO_SUCH_KEY" }));
      expect(failure).toContain("the environment variable MILLRACE_NO_SUCH_KEY is not set");
    }),
  );

  it.live("writes RAGEN's output in the order of the instances", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const server = yield* standIn(walk);
      const output = { dir: join(dir, "results"), filename: "val_rollouts.pkl", append_timestamp: false };
      yield* run(dir, { ...settings(server.url), output });
      const rows = linesOf(yield* read(dir, "results", "val_rollouts.jsonl"));
      expect(rows.map(({ metadata }) => metadata.env_id)).toEqual(instances.map((seed) => seed - 123));
      expect(rows[0].messages[0]).toMatchObject({ role: "system" });
    }),
  );
});

describe("several models", () => {
  it.live("play one after the other, into one table, one page and paired differences", () =>
    Effect.gen(function* () {
      const dir = yield* Effect.tap(temporaryFolder, writeModel);
      const server = yield* standIn(walk);
      const mute = yield* standIn((_, response) => says(response, { text: "I would rather not." }));
      const models = [
        { name: "walker" },
        { name: "mute", endpoint: { base_url: mute.url } },
        { path: join(dir, "model"), name: "tiny" },
      ];
      // The checkpoint of the test has no context for RAGEN's texts.
      const changes = { ...settings(server.url, {}, { models }), rollout: { template: "compact", max_turn: 4 } };
      const { exit, lines } = yield* run(dir, changes);
      expect(Exit.isSuccess(exit)).toBe(true);
      const table = lines.slice(lines.findIndex((line) => line.startsWith("MODEL")));
      expect(table.slice(1, 4).map((line) => line.split(/ +/)[0])).toEqual(["walker", "mute", "tiny"]);

      const folder = yield* newest(dir);
      const compared = JSON.parse((yield* compare({ runs: [folder], json: true })).join("\n"));
      expect(compared.rows.map(({ episodes, name }: { name: string; episodes: number }) => [name, episodes])).toEqual([
        ["mute", 12],
        ["tiny", 12],
        ["walker", 12],
      ]);
      expect(compared.pairs).toHaveLength(2);
      expect(compared.pairs[1]).toMatchObject({ against: "mute", name: "walker", instances: 12, unmatched: 0 });

      const output = join(dir, "page.html");
      expect(yield* leaderboard({ folders: [join(dir, "runs")], output, title: "Lakes" })).toEqual([
        `${output}: 3 results in 1 table`,
      ]);
      expect(yield* read(output)).toContain("walker");
    }),
  );

  it.live("play although one of them fails, and only what is left on a resume", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const [good, bad] = [yield* standIn(walk), yield* standIn((_, response) => faults.broken(response))];
      const listed = (second: string) =>
        settings(
          good.url,
          { retries: 0, failures_in_a_row: 1 },
          {
            models: [{ name: "bad", endpoint: { base_url: second } }, { name: "good" }],
          },
        );
      const { failure } = yield* run(dir, listed(bad.url));
      expect(failure).toContain("a request came to nothing; the last: status 500");
      const folder = yield* newest(dir);
      expect(ascending(yield* seedsIn(join(folder, "good")))).toEqual(instances);
      const requestCount = good.asked.length;
      const mended = yield* standIn(walk);
      const { exit } = yield* run(dir, listed(mended.url), folder);
      expect(Exit.isSuccess(exit)).toBe(true);
      expect(ascending(yield* seedsIn(join(folder, "bad")))).toEqual(instances);
      expect(good.asked.length).toBe(requestCount);
    }),
  );

  it.live("keep their configurations where they are not gone on with", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const server = yield* standIn(walk);
      const changes = settings(server.url, {}, { models: [{ name: "walker" }] });
      yield* run(dir, changes);
      const folder = yield* newest(dir);
      const file = join(folder, "walker", "config.yaml");
      const before = yield* read(file);
      const { failure } = yield* run(dir, { ...changes, rollout: { template: "compact", max_turn: 4 } }, folder);
      expect(failure).toContain("is not as the evaluation began");
      expect((yield* read(file)) === before).toBe(true);
    }),
  );

  it.live("are refused a comparison under unlike texts", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const server = yield* standIn(walk);
      yield* run(dir, settings(server.url));
      const one = yield* newest(dir);
      yield* run(dir, {
        ...settings(server.url),
        run: { name: "tiny", dir: join(dir, "other") },
        rollout: { template: "compact", max_turn: 4 },
      });
      const parent = join(dir, "other", "tiny-evaluate");
      const error = yield* Effect.flip(compare({ runs: [one, parent], json: false }));
      expect(error.message).toContain('do not compare: rollout.template is "ragen" and "compact"');
    }),
  );
});
