/**
 * A sweep over stubbed runs: what is run, in which order, what goes on after a stop or a failure, what is refused, and what is written. A stub
 * leaves a run's folder as a run does: its config.yaml, a metrics.jsonl, and a checkpoint where it was stopped.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@effect/vitest";
import { Console, Deferred, Effect, type Exit, Result } from "effect";
import { sweep } from "../../pipelines/sweep.ts";
import type { Runner, RunOrder } from "../../pipelines/sweepRun.ts";
import { parseOverride } from "../../src/config/overrides.ts";
import { render } from "../../src/config/render.ts";
import { set } from "../../src/config/Tree.ts";
import * as Stop from "../../src/support/process/Stop.ts";
import { temporaryFolder } from "../temporaryFolder.ts";

const steps = 3;

/** A sweep of two points and two seeds below `dir`. */
const written = (dir: string, changes: Readonly<Record<string, unknown>> = {}): string => {
  const file = join(dir, "mine.yaml");
  const sweepFile = {
    config: "_1_bandit",
    overrides: { "trainer.total_training_steps": steps, "run.dir": join(dir, "runs") },
    grid: { "filter.value": [0.9, 1] },
    seeds: [0, 1],
    metrics: [{ metric: "val-env/success", of: ["last"] }],
    ...changes,
  };
  writeFileSync(file, JSON.stringify(sweepFile));
  return file;
};

/** Leaves what a run leaves that came to step `to`. */
const leave = ({ config, resume }: RunOrder, to: number): void => {
  const folder = resume ?? join(config.run.dir, config.run.name, "20260101-000000");
  mkdirSync(join(folder, "checkpoints"), { recursive: true });
  writeFileSync(join(folder, "config.yaml"), render(config));
  const success = config.filter.value + config.run.seed / 10;
  const line = (step: number) =>
    `${JSON.stringify({ step, time: step, "val-env/success": success * (step / steps) })}\n`;
  writeFileSync(join(folder, "metrics.jsonl"), Array.from({ length: to + 1 }, (_, step) => line(step)).join(""));
  if (to < steps) mkdirSync(join(folder, "checkpoints", `step-${to}`), { recursive: true });
};

interface Ran {
  readonly exit: Exit.Exit<unknown, unknown>;
  readonly lines: readonly string[];
}

const swept = Effect.fnUntraced(function* (
  file: string,
  runner: Runner,
  options: { readonly jobs?: number; readonly list?: boolean; readonly overrides?: readonly string[] } = {},
) {
  const lines: string[] = [];
  const quiet = { ...globalThis.console, log: (line: string) => void lines.push(line) };
  const sweepOptions = { file, jobs: 1, list: false, overrides: [], ...options };
  const exit = yield* Effect.exit(Effect.provideService(sweep(sweepOptions, runner), Console.Console, quiet));
  const ran: Ran = { exit, lines };
  return ran;
});

/** Finishes every run, and remembers what it was asked. */
const finishing = () => {
  const orders: RunOrder[] = [];
  const runner: Runner = (order) =>
    Effect.sync(() => {
      orders.push(order);
      leave(order, steps);
      return 0;
    });
  return { orders, runner };
};

const message = ({ exit }: Ran): string => (exit._tag === "Failure" ? String(exit.cause) : "succeeded");

describe("a sweep", () => {
  it.effect("runs every point under every seed, each in its own folder, and writes the table and the page", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const { orders, runner } = finishing();
      const ran = yield* swept(written(dir), runner);
      expect(message(ran)).toBe("succeeded");
      expect(orders.map(({ run }) => run.name)).toEqual([
        "value=0.9,seed=0",
        "value=0.9,seed=1",
        "value=1,seed=0",
        "value=1,seed=1",
      ]);
      const folder = join(dir, "runs", "mine");
      expect(readdirSync(folder).sort()).toEqual(
        [
          ...orders.map(({ run }) => run.name),
          "sweep.html",
          "sweep.yaml",
          "table.csv",
          "table.json",
          "table.txt",
        ].sort(),
      );
      const { points } = JSON.parse(readFileSync(join(folder, "table.json"), "utf8"));
      const means = points.map(
        (point: { readonly results: readonly { readonly mean: number }[] }) => point.results[0]!.mean,
      );
      expect(means).toEqual([expect.closeTo(0.95, 12), expect.closeTo(1.05, 12)]);
      expect(readFileSync(join(folder, "table.txt"), "utf8")).toContain("value=0.9  2/2");
      expect(ran.lines.at(-1)).toBe(join(folder, "sweep.html"));
    }).pipe(Effect.provide(Stop.layerWithoutSignals)),
  );

  it.effect("starts a run with words that resolve to the point's configuration", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const { orders, runner } = finishing();
      yield* swept(written(dir, { seeds: [1] }), runner, { overrides: ["actor.lr=1e-3"] });
      const [first] = orders;
      expect(first!.words.slice(0, 3)).toEqual(["train", "--config-name", "_1_bandit"]);
      const values = first!.words.slice(3).reduce((tree, word) => {
        const override = Result.getOrThrow(parseOverride(word));
        return override._tag === "Set" ? set(tree, override.path, override.value) : tree;
      }, {});
      expect(values).toMatchObject({
        run: { seed: 1, name: "value=0.9,seed=1", dir: join(dir, "runs", "mine") },
        filter: { value: 0.9 },
        actor: { lr: 1e-3 },
      });
      expect(first!.config.filter.value).toBe(0.9);
    }).pipe(Effect.provide(Stop.layerWithoutSignals)),
  );

  it.effect("does nothing again that is finished", () =>
    Effect.gen(function* () {
      const file = written(yield* temporaryFolder, { seeds: [0] });
      yield* swept(file, finishing().runner);
      const { orders, runner } = finishing();
      const again = yield* swept(file, runner);
      expect(orders).toEqual([]);
      expect(message(again)).toBe("succeeded");
      expect(again.lines[0]).toContain("2 runs, 2 of them finished");
    }).pipe(Effect.provide(Stop.layerWithoutSignals)),
  );

  it.effect("goes on with a run that was cut, and starts one anew that has no checkpoint", () =>
    Effect.gen(function* () {
      const file = written(yield* temporaryFolder, { seeds: [0] });
      let count = 0;
      yield* swept(file, (order) =>
        Effect.sync(() => {
          count++;
          if (count === 1) leave(order, 1);
          return 130;
        }),
      );
      const { orders, runner } = finishing();
      yield* swept(file, runner);
      expect(orders.map(({ resume }) => resume === null)).toEqual([false, true]);
      expect(orders[0]!.words).toEqual(["train", "--resume", orders[0]!.resume, "--trust"]);
    }).pipe(Effect.provide(Stop.layerWithoutSignals)),
  );

  it.effect("starts no further run once a stop is asked for, and says how it goes on", () =>
    Effect.gen(function* () {
      const file = written(yield* temporaryFolder);
      const stop = yield* Stop.Stop;
      let started = 0;
      const ran = yield* swept(file, (order) =>
        Effect.gen(function* () {
          started++;
          yield* stop.request;
          yield* stop.requested;
          yield* Effect.yieldNow;
          leave(order, 1);
          return 0;
        }),
      );
      expect(started).toBe(1);
      expect(message(ran)).toBe("succeeded");
      expect(ran.lines.at(-1)).toBe("stopped with 4 of 4 runs to do; the same command goes on");
    }).pipe(Effect.provide(Stop.layerWithoutSignals)),
  );

  it.effect("runs as many at once as it is told", () =>
    Effect.gen(function* () {
      const file = written(yield* temporaryFolder, { seeds: [0] });
      const both = yield* Deferred.make<void>();
      let running = 0;
      let most = 0;
      yield* swept(
        file,
        (order) =>
          Effect.gen(function* () {
            running++;
            most = Math.max(most, running);
            if (running === 2) yield* Deferred.succeed(both, undefined);
            yield* Deferred.await(both);
            leave(order, steps);
            running--;
            return 0;
          }),
        { jobs: 2 },
      );
      expect(most).toBe(2);
    }).pipe(Effect.provide(Stop.layerWithoutSignals)),
  );

  it.effect("goes on after a run that fails, and fails at its end with the file to look at", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const file = written(dir);
      const { orders, runner } = finishing();
      const ran = yield* swept(file, (order) =>
        order.run.name === "value=0.9,seed=1" ? Effect.succeed("SIGKILL") : runner(order),
      );
      expect(orders.length).toBe(3);
      expect(message(ran)).toContain("1 of 4 runs failed");
      expect(message(ran)).toContain(join(dir, "runs", "mine", "value=0.9,seed=1", "output.log"));
      expect(ran.lines.some((line) => line.includes("value=0.9,seed=1: failed (SIGKILL)"))).toBe(true);
    }).pipe(Effect.provide(Stop.layerWithoutSignals)),
  );

  it.effect("lists its points without running them", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const { orders, runner } = finishing();
      const { lines } = yield* swept(written(dir), runner, { list: true });
      expect(orders).toEqual([]);
      expect(lines).toEqual([
        "POINT      SETS",
        "value=0.9  filter.value=0.9",
        "value=1    filter.value=1",
        `2 points, 4 runs; ${join(dir, "runs", "mine")}`,
      ]);
      expect(existsSync(join(dir, "runs"))).toBe(false);
    }).pipe(Effect.provide(Stop.layerWithoutSignals)),
  );
});

describe("a sweep is refused before anything runs", () => {
  const refused = (changes: Readonly<Record<string, unknown>>, overrides: readonly string[] = []) =>
    Effect.gen(function* () {
      const { orders, runner } = finishing();
      const ran = yield* swept(written(yield* temporaryFolder, changes), runner, { overrides });
      expect(orders).toEqual([]);
      return message(ran);
    }).pipe(Effect.provide(Stop.layerWithoutSignals));

  it.effect("for a bad value, naming the point", () =>
    Effect.gen(function* () {
      expect(yield* refused({ grid: { "filter.value": [0.9, -1] } })).toMatch(/value=-1: filter\.value: -1 .*nearest/);
    }),
  );

  it.effect("for a key that no run file has, once for all points", () =>
    Effect.gen(function* () {
      const said = yield* refused({ overrides: { "filter.valeu": 1 } });
      expect(said).toContain("every point: filter.valeu: unknown key");
      expect(said.split("unknown key").length).toBe(2);
    }),
  );

  it.effect("for a bad key of an environment", () =>
    Effect.gen(function* () {
      const grid = { "custom_envs.Bandit.env_config.hi_arm_hiscore_prob": [0.5, 2] };
      expect(yield* refused({ grid })).toContain("hi_arm_hiscore_prob: 2");
    }),
  );

  it.effect("for an override of what the points set", () =>
    Effect.gen(function* () {
      expect(yield* refused({}, ["filter.value=0.5"])).toContain(
        'override "filter.value=0.5": the sweep sets this key itself',
      );
    }),
  );

  it.effect("where its runs were made under another configuration, naming the key", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      yield* swept(written(dir, { seeds: [0] }), finishing().runner);
      const { orders, runner } = finishing();
      const ran = yield* swept(written(dir, { seeds: [0] }), runner, { overrides: ["actor.lr=0.5"] });
      expect(orders).toEqual([]);
      expect(message(ran)).toContain("actor.lr was 0.0002 and is 0.5");
    }).pipe(Effect.provide(Stop.layerWithoutSignals)),
  );

  it.effect("without a file, naming the nearest", () =>
    Effect.gen(function* () {
      const ran = yield* swept("topp", finishing().runner);
      expect(message(ran)).toContain('no sweep file "topp"');
      expect(message(ran)).toContain("nearest: top_p");
    }).pipe(Effect.provide(Stop.layerWithoutSignals)),
  );
});
