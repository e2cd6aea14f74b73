import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "@effect/vitest";
import { Console, Effect } from "effect";
import { expect } from "vitest";
import { evaluate } from "../../pipelines/evaluate.ts";
import { writeCheckpoint } from "../../src/model/checkpoint/HuggingFaceFolder.ts";
import { packageRoot } from "../../src/support/files/packageRoot.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { fake, model } from "../remote/generation/startGenerator.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { writeModel } from "./tiny.ts";

it.live("plays every validation instance once, the same way each time, and writes all it played", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const dir = yield* Effect.tap(temporaryFolder, writeModel);
      const lines: string[] = [];
      const quiet = { ...globalThis.console, log: (line: string) => void lines.push(line), error: () => undefined };
      const config = tinyConfig(dir, { pipeline: { step_inline: false } });
      const run = Effect.provideService(evaluate({ config }), Console.Console, quiet);
      yield* run;
      yield* run;

      const parent = join(dir, "runs", "tiny-evaluate");
      const folders = (yield* Effect.promise(() => readdir(parent))).sort().map((name) => join(parent, name));
      const read = (file: string) =>
        Effect.forEach(folders, (folder) => Effect.promise(() => readFile(join(folder, file), "utf8")));
      const [first, second] = yield* read("trajectories.jsonl");
      expect(second).toBe(first);
      const episodes = first!.trimEnd().split("\n");
      expect(episodes.map((line) => JSON.parse(line).seed)).toEqual([123, 124, 125, 126]);
      const [summary] = yield* read("summary.json");
      expect(JSON.parse(summary!)).toMatchObject({ "val-env/FrozenLake/success": expect.any(Number) });
      expect(lines.filter((line) => line.startsWith("4 groups; trajectories in"))).toHaveLength(2);
    }),
  ),
);

it.live("plays an agent, whose episodes are recorded as the tree of its calls", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const dir = yield* Effect.tap(temporaryFolder, writeModel);
      const quiet = { ...globalThis.console, log: () => undefined, error: () => undefined };
      const path = join(packageRoot, "test/agents/fixtures/length.ts");
      const tags = { train: { tags: ["Agent"] }, val: { tags: ["Agent"] } };
      const config = tinyConfig(dir, { agent: { path }, es_manager: tags });
      yield* Effect.provideService(evaluate({ config }), Console.Console, quiet);

      const parent = join(dir, "runs", "tiny-evaluate");
      const [name = ""] = yield* Effect.promise(() => readdir(parent));
      const read = (file: string) => Effect.promise(() => readFile(join(parent, name, file), "utf8"));
      const lines = (yield* read("episodes.jsonl")).trimEnd().split("\n");
      const episodes = lines.map((line) => JSON.parse(line));
      expect(episodes.map(({ metadata }) => metadata.seed).toSorted()).toEqual([123, 124, 125, 126]);
      for (const { metadata, turns } of episodes) {
        expect(metadata.total_reward).toBe(turns[0].tokens);
        expect(turns[0].call).toMatchObject({ number: 0, parent: null, added: [{ role: "user", text: "go" }] });
      }
      const records = (yield* read("trajectories.jsonl")).trimEnd().split("\n");
      expect(records.map((line) => JSON.parse(line).turns[0].call.number)).toEqual([0, 0, 0, 0]);
    }),
  ),
);

it.live("asks generation servers where the run file names them, and leaves no weights behind", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      yield* writeCheckpoint(join(dir, "model"), model.checkpoint);
      const server = yield* fake();
      const quiet = { ...globalThis.console, log: () => undefined, error: () => undefined };
      const generator = { engine: "vllm", urls: [server.url], price_in: 1, price_out: 2 };
      const config = tinyConfig(dir, { model: { generator } });
      yield* Effect.provideService(evaluate({ config }), Console.Console, quiet);

      const [name = ""] = yield* Effect.promise(() => readdir(join(dir, "runs", "tiny-evaluate")));
      const folder = join(dir, "runs", "tiny-evaluate", name);
      const files = yield* Effect.promise(() => readdir(folder));
      expect(files).toContain("summary.json");
      expect(files).not.toContain("weights");
      const trajectories = (yield* Effect.promise(() =>
        readFile(join(folder, "trajectories.jsonl"), "utf8"),
      )).trimEnd();
      expect(trajectories.split("\n").map((line) => JSON.parse(line).seed)).toEqual([123, 124, 125, 126]);
      const { evaluation } = JSON.parse(yield* Effect.promise(() => readFile(join(folder, "summary.json"), "utf8")));
      const { cost_usd, requests, retries, tokens } = evaluation;
      const episodes = (yield* Effect.promise(() => readFile(join(folder, "episodes.jsonl"), "utf8"))).trimEnd();
      const replies = episodes.split("\n").flatMap((line) => JSON.parse(line).turns);
      expect([requests, retries, tokens.lost]).toEqual([replies.length, 0, 0]);
      expect(cost_usd).toBeCloseTo((tokens.prompt + 2 * tokens.reply) / 1e6, 12);
    }),
  ),
);
