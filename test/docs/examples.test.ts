/** The examples of docs/examples, run as their heads say, over a run of a few windows of two groups: each does what it claims. */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { packageRoot } from "../../src/support/files/packageRoot.ts";

const runs = mkdtempSync(join(tmpdir(), "millrace-examples-"));
afterAll(() => rmSync(runs, { recursive: true, force: true }));

const small = [
  "es_manager.train.env_groups=2",
  "es_manager.train.group_size=4",
  "es_manager.train.n_groups=[2]",
  "actor.ppo_mini_batch_size=8",
  "rollout.max_turn=2",
  "trainer.val_before_train=false",
  "trainer.val_at_end=false",
  "metrics.console=off",
];

/** Runs an example; returns the lines that it prints, and the folder of its run. */
const example = async (name: string, ...overrides: readonly string[]) => {
  const arguments_ = ["--import", "./docs/examples/checkout.ts", `docs/examples/${name}.ts`, `run.name=${name}`];
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...arguments_, `run.dir=${runs}`, ...small, ...overrides],
    { cwd: packageRoot },
  );
  const [folder = ""] = readdirSync(join(runs, name));
  return { lines: stdout.trimEnd().split("\n"), folder: join(runs, name, folder) };
};

const jsonLines = (path: string): readonly Readonly<Record<string, unknown>>[] =>
  readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

/** Milliseconds on a machine that others use too; five seconds on a quiet one. */
const patience = 240_000;

describe("docs/examples", () => {
  it("filter.ts trains on the half of each window in which fewer episodes succeed", { timeout: patience }, async () => {
    const { folder, lines } = await example(
      "filter",
      "trainer.total_training_steps=3",
      "trainer.trajectory_freq=1",
      "trainer.trajectory_groups=2",
    );
    const success = new Map<number, number>();
    for (const { group, success: succeeded } of jsonLines(join(folder, "trajectories.jsonl"))) {
      success.set(Number(group), (success.get(Number(group)) ?? 0) + Number(succeeded));
    }
    const verdicts = lines.flatMap((line) => {
      const said = /^window \d+: train on groups (\d+); leave out (\d+)$/.exec(line);
      return said === null ? [] : [said.slice(1).map(Number)];
    });
    expect(verdicts.flat().sort()).toEqual([0, 1, 2, 3, 4, 5]);
    for (const [kept = -1, left = -1] of verdicts) {
      expect(success.get(kept)).toBeLessThanOrEqual(success.get(left) ?? -1);
    }
    expect(jsonLines(join(folder, "metrics.jsonl")).at(-1)).toMatchObject({
      "ledger/trained": 3,
      "ledger/filtered": 3,
    });
  });

  it("sink.ts writes a row a step with what metrics.jsonl has, and an empty cell for what was not measured", {
    timeout: patience,
  }, async () => {
    const validated = ["trainer.val_before_train=true", "es_manager.val.env_groups=2", "es_manager.val.n_groups=[2]"];
    const { folder, lines } = await example("sink", "trainer.total_training_steps=2", ...validated);
    expect(lines).toEqual([join(folder, "steps.csv")]);
    const records = jsonLines(join(folder, "metrics.jsonl"));
    const keys = ["step", "train/success", "staleness/mean", "weights/version", "timing_s/step"];
    const rows = records.map((record) => keys.map((key) => record[key] ?? "").join(","));
    // Only the validation of the starting weights is in the first record.
    expect(rows[0]).toBe("0,,,,");
    expect(rows.map((row) => row.split(",")[0])).toEqual(["0", "1", "2"]);
    const csv = readFileSync(join(folder, "steps.csv"), "utf8").trimEnd().split("\n");
    expect(csv).toEqual(["step,success,staleness,version,seconds", ...rows]);
  });

  it("engine.ts sees every window and step, changes a stage and stops with a checkpoint", {
    timeout: patience,
  }, async () => {
    // Uniform groups stay in, so that every window is trained on.
    const { folder, lines } = await example(
      "engine",
      "trainer.total_training_steps=1000",
      "filter.value=1",
      "filter.include_zero=true",
    );
    expect(lines[0]).toBe("stages: rollout, window, score, filter, learn, close, generate, step");
    const records = jsonLines(join(folder, "metrics.jsonl"));
    const last = records.length;
    expect(last).toBeGreaterThanOrEqual(3);
    expect(last).toBeLessThan(1000);
    const expectedLines = records.map((record, index) => [
      `window ${index}: weights version ${record["weights/version"]}`,
      `step ${index + 1}: ${Object.keys(record).length - 2} metrics`,
    ]);
    expect(lines.slice(1, -1)).toEqual(expectedLines.flat());
    const concurrencies = records.map((record) => Number(record["stage/rollout/concurrency"]));
    expect(concurrencies.slice(1)).toEqual(concurrencies.slice(1).map(() => (concurrencies[0] ?? 0) / 2));
    const checkpoint = join(folder, "checkpoints", `step-${last}`);
    expect(lines.at(-1)).toBe(`stopped after step ${last}: ${checkpoint}`);
    expect(existsSync(join(checkpoint, "run.json"))).toBe(true);
  });

  it("engine.ts says of a window whose groups all ended alike that there is nothing to train on", {
    timeout: patience,
  }, async () => {
    // One step solves none of the lakes, so that every episode fails.
    const { lines } = await example(
      "engine",
      "run.name=engine-alike",
      "trainer.total_training_steps=2",
      "rollout.max_turn=1",
      "rollout.max_actions_per_turn=1",
    );
    expect(lines.filter((line) => line.startsWith("window"))).toEqual([
      "window 0: nothing to train on",
      "window 1: nothing to train on",
    ]);
  });

  it("algorithm.ts trains with its own estimator and loss", { timeout: patience }, async () => {
    const { folder, lines } = await example("algorithm", "trainer.total_training_steps=2");
    const records = jsonLines(join(folder, "metrics.jsonl"));
    expect(lines).toEqual(
      records.map((record) => `${record.step} ${record["actor/pg_loss"]} ${record["train/success"]}`),
    );
    expect(records).toHaveLength(2);
    const config = readFileSync(join(folder, "config.yaml"), "utf8");
    expect(config).toMatch(/custom_estimator: .*\/docs\/examples\/estimator\.ts/);
    expect(config).toMatch(/custom_loss: .*\/docs\/examples\/loss\.ts/);
  });

  it("table.ts trains a table by its own learner, which learns", { timeout: patience }, async () => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [
        "--import",
        "./docs/examples/checkout.ts",
        "docs/examples/table.ts",
        `run.dir=${runs}`,
        "run.name=table",
        "trainer.total_training_steps=25",
        "trainer.val_before_train=false",
        "trainer.val_at_end=false",
        "metrics.console=off",
      ],
      { cwd: packageRoot },
    );
    const successes = stdout
      .trimEnd()
      .split("\n")
      .map((line) => Number(line.split(" ")[1]));
    const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    expect(successes).toHaveLength(25);
    expect(mean(successes.slice(0, 3))).toBeLessThan(0.6);
    expect(mean(successes.slice(-5))).toBeGreaterThan(0.75);
  });

  it("policy.ts clones a policy, trains it, evaluates it and asks it for a reply and an episode", {
    timeout: patience,
  }, async () => {
    const folder = join(runs, "policy");
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--import", "./docs/examples/checkout.ts", "docs/examples/policy.ts", folder],
      { cwd: packageRoot },
    );
    expect(stdout.trimEnd().split("\n")).toEqual([
      expect.stringMatching(/^clone 10: loss [\d.]+$/),
      expect.stringMatching(/^clone 20: loss [\d.]+$/),
      expect.stringMatching(/^success [\d.]+, 95 % interval [\d.]+ to [\d.]+$/),
      expect.stringMatching(/^<think>/),
      expect.stringMatching(/^\d+ turns, reward -?[\d.]+$/),
    ]);
    expect(existsSync(join(folder, "cloned", "model.safetensors"))).toBe(true);
    const [evaluation = ""] = readdirSync(join(folder, "lake-evaluate"));
    const summary = readFileSync(join(folder, "lake-evaluate", evaluation, "summary.json"), "utf8");
    expect(stdout).toContain(`success ${JSON.parse(summary).evaluation.success.mean},`);
  });

  it("train.ts plays its own environment and reward, and reads each step as it comes", {
    timeout: patience,
  }, async () => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--import", "./docs/examples/checkout.ts", "docs/examples/train.ts", runs],
      { cwd: packageRoot },
    );
    const lines = stdout.trimEnd().split("\n");
    const checkpoint = lines.at(-1) ?? "";
    const folder = join(checkpoint, "../..");
    const records = jsonLines(join(folder, "metrics.jsonl"));
    expect(lines.slice(0, -1)).toEqual(
      records.map((record) => `${record.step} ${record["train/success"]} ${record["train/Lamps/num_actions"]}`),
    );
    expect(records).toHaveLength(2);
    expect(readFileSync(join(folder, "steps.csv"), "utf8").trimEnd().split("\n")).toHaveLength(3);
  });
});
