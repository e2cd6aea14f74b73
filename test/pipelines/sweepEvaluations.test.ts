/** Sweeps of evaluations by an endpoint in this process: what is played, the table with its intervals, the pairs, and how a sweep goes on. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "@effect/vitest";
import { Console, Effect } from "effect";
import { describe, expect } from "vitest";
import { evaluate } from "../../pipelines/evaluate.ts";
import { sweep } from "../../pipelines/sweep.ts";
import type { Runner, RunOrder } from "../../pipelines/sweepRun.ts";
import * as Stop from "../../src/support/process/Stop.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { type Script, says, standIn } from "../tools/endpoints/standIn.ts";

type Keys = Readonly<Record<string, unknown>>;

/** The model `good` chooses the arm that is named first, `bad` the other one: where one succeeds, the other does not. */
const player: Script = ({ body }, response) => {
  const arms = /two arms, called (.+) and (.+)\./.exec(body.messages.at(-1)?.content ?? "");
  const arm = arms?.[body.model === "good" ? 1 : 2] ?? "";
  says(response, { text: `<think>so</think><answer>${arm}</answer>`, prompt: 300, tokens: 10 });
};

const written = (dir: string, url: string, changes: Keys = {}, overrides: Keys = {}): string => {
  const file = join(dir, "models.yaml");
  const tree = {
    command: "evaluate",
    config: "_1_bandit",
    overrides: {
      "run.dir": join(dir, "runs"),
      "rollout.template": "ragen",
      "rollout.max_model_len": 2_000,
      "pipeline.step_inline": true,
      "es_manager.val.env_groups": 8,
      "es_manager.val.group_size": 1,
      "evaluation.endpoint": { kind: "openai", base_url: url, model: "good", max_tokens: 20, retry_wait_ms: 1 },
      ...overrides,
    },
    grid: { "evaluation.endpoint.model": ["good", "bad"] },
    ...changes,
  };
  writeFileSync(file, JSON.stringify(tree));
  return file;
};

const quiet = { ...globalThis.console, log: () => undefined, error: () => undefined };

const swept = Effect.fnUntraced(function* (file: string, overrides: readonly string[] = []) {
  const lines: string[] = [];
  const orders: RunOrder[] = [];
  // As its process does, apart from the process.
  const runner: Runner = (order) => {
    orders.push(order);
    const run = evaluate({ config: order.config, resume: order.resume });
    return Effect.provideService(run, Console.Console, quiet).pipe(
      Effect.as(0),
      Effect.catch(() => Effect.succeed(1)),
    );
  };
  const program = sweep({ file, jobs: 1, list: false, overrides }, runner);
  const exit = yield* Effect.exit(
    Effect.provideService(program, Console.Console, { ...quiet, log: (line: string) => void lines.push(line) }),
  );
  return { lines, orders, said: exit._tag === "Failure" ? String(exit.cause) : "succeeded" };
});

const read = (...path: readonly string[]): string => readFileSync(join(...path), "utf8");

/** The eight seeds of the validation have five pairs of names. */
const instances = 5;

describe("a sweep of evaluations", () => {
  it.live("plays every point, and compares the points instance by instance", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const server = yield* standIn(player);
      const { lines, orders, said } = yield* swept(written(dir, server.url));
      expect(said).toBe("succeeded");
      expect(orders.map(({ run, words }) => [run.name, ...words.slice(0, 3)])).toEqual([
        ["model=good,seed=0", "evaluate", "--config-name", "_1_bandit"],
        ["model=bad,seed=0", "evaluate", "--config-name", "_1_bandit"],
      ]);
      expect(server.asked).toHaveLength(16);
      const folder = join(dir, "runs", "models");
      const { pairs, points } = JSON.parse(read(folder, "table.json"));
      const [good, bad] = points.map(({ results }: { readonly results: readonly Keys[] }) => results[0]);
      expect(good).toMatchObject({ metric: "val-env/success", mean: expect.any(Number), values: instances });
      expect(pairs).toMatchObject([{ name: "model=bad", against: "model=good", instances, unmatched: 0 }]);
      expect(pairs[0].success.mean).toBeCloseTo(bad.mean - good.mean, 12);
      expect(good.high).toBeGreaterThan(good.low);
      expect(lines).toContain("less model=good:");
      expect(good.mean + bad.mean).toBe(1);
      expect(read(folder, "table.txt").split(/\s+/).slice(0, 4)).toEqual([
        "point",
        "runs",
        "val-env/success",
        "val-env/charts/avg_episode_return",
      ]);
      expect(existsSync(join(folder, "sweep.html"))).toBe(true);
    }).pipe(Effect.provide(Stop.layerWithoutSignals)),
  );

  it.live("pools the seeds of a point by instance", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const server = yield* standIn(player);
      yield* swept(written(dir, server.url, { seeds: [0, 1] }));
      const { pairs, points } = JSON.parse(read(dir, "runs", "models", "table.json"));
      expect(points[0].seeds).toEqual([0, 1]);
      expect(points[0].results[0].values).toBe(instances);
      // Each instance was played twice, which McNemar's test is not for.
      expect(pairs[0]).toMatchObject({ instances, p: null });
    }).pipe(Effect.provide(Stop.layerWithoutSignals)),
  );

  it.live("does not pair points of other environments", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const server = yield* standIn(player);
      const grid = {
        "custom_envs.Bandit.env_config.hi_arm_hiscore_prob": [0.25, 0.5],
        "evaluation.endpoint.model": ["good", "bad"],
      };
      yield* swept(written(dir, server.url, { grid }));
      const { pairs } = JSON.parse(read(dir, "runs", "models", "table.json"));
      expect(pairs.map(({ against, name }: Keys) => `${name} less ${against}`)).toEqual([
        "hi_arm_hiscore_prob=0.25,model=bad less hi_arm_hiscore_prob=0.25,model=good",
        "hi_arm_hiscore_prob=0.5,model=bad less hi_arm_hiscore_prob=0.5,model=good",
      ]);
    }).pipe(Effect.provide(Stop.layerWithoutSignals)),
  );

  it.live("goes on where a budget ended it, under a larger one, and plays nothing again", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const server = yield* standIn(player);
      const file = written(dir, server.url);
      const first = yield* swept(file, ["evaluation.endpoint.budget_tokens=1500"]);
      expect(first.lines.at(-1)).toContain("2 of 2 runs are not whole");
      const requestCount = server.asked.length;
      expect(requestCount).toBeGreaterThan(0);
      const { lines, orders } = yield* swept(file, ["evaluation.endpoint.budget_tokens=100000"]);
      expect(orders.map(({ words }) => words[1])).toEqual(["--resume", "--resume"]);
      expect(server.asked.length).toBe(16);
      expect(lines).toContain("less model=good:");
      const again = yield* swept(file, ["evaluation.endpoint.budget_tokens=100000"]);
      expect(again.orders).toEqual([]);
    }).pipe(Effect.provide(Stop.layerWithoutSignals)),
  );
});

describe("a sweep of evaluations is refused before anything is played", () => {
  const refused = (changes: Keys, overrides: Keys = {}) =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const { orders, said } = yield* swept(written(dir, "http://127.0.0.1:9", changes, overrides));
      expect(orders).toEqual([]);
      expect(readdirSync(dir)).toEqual(["models.yaml"]);
      return said;
    }).pipe(Effect.provide(Stop.layerWithoutSignals));

  it.live("for a column of a curve", () =>
    Effect.gen(function* () {
      expect(yield* refused({ metrics: [{ metric: "val-env/success", of: ["best"] }] })).toContain(
        "an evaluation has one value of each metric; leave it out",
      );
    }),
  );

  it.live("for a list of models, which are points", () =>
    Effect.gen(function* () {
      const said = yield* refused({}, { "evaluation.models": [{ name: "a" }] });
      expect(said).toContain("evaluation.models: the points of a sweep are the models");
    }),
  );
});
