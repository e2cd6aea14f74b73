/** An evaluation and a cloning from code: results as values, steps as they come, errors to read. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect } from "effect";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { BadInput, type CloningStep, evaluate, openPolicy, sft, train as trainFromCode } from "../../pipelines/main.ts";
import { render } from "../../src/config/render.ts";
import { packageRoot } from "../../src/support/files/packageRoot.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { train, writeModel } from "./tiny.ts";

/** Milliseconds on a machine that others use too; a few seconds on a quiet one. */
const patience = 240_000;

let root: string;
let run: string;
/** A run file of the tiny run. */
let file: string;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "millrace-code-"));
  await Effect.runPromise(writeModel(root));
  const config = tinyConfig(root, { rollout: { response_length: 24, max_model_len: 250 } });
  await Effect.runPromise(train({ config, resume: null }));
  const runs = join(root, "runs", "tiny");
  run = join(runs, readdirSync(runs)[0] ?? "");
  file = join(root, "tiny.yaml");
  writeFileSync(file, render(config));
}, patience);
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe("evaluate from code", () => {
  it("gives the result of a run's checkpoint, as its folder has it, and prints nothing", {
    timeout: patience,
  }, async () => {
    const log = vi.spyOn(console, "log");
    const result = await evaluate(run);
    expect(log).not.toHaveBeenCalled();
    log.mockRestore();
    const { evaluation } = JSON.parse(readFileSync(join(result.folder, "summary.json"), "utf8"));
    expect(result.summary).toEqual(evaluation);
    expect(result.summary.model).toBe(join(run, "checkpoints", "step-3"));
    expect([result.episodes, result.failed]).toEqual([4, 0]);
    expect(result.get("val-env/FrozenLake/success")).toBe(result.success.mean);
    expect(result.success.low).toBeLessThanOrEqual(result.success.mean);
    expect(result.success.high).toBeGreaterThanOrEqual(result.success.mean);
    expect(result.get("val-env/Bandit/success")).toBeUndefined();
  });

  it("plays one's own environment", { timeout: patience }, async () => {
    const Lamps = new URL("../../docs/examples/environment/lamps.ts", import.meta.url);
    const changes = { es_manager: { val: { env_groups: 2 } }, pipeline: { step_inline: false } };
    const result = await evaluate(file, changes, { environments: { Lamps } });
    expect(result.get("val-env/Lamps/success")).toBe(result.success.mean);
  });

  it("goes on in the folder of an evaluation", { timeout: patience }, async () => {
    const { folder, success } = await evaluate(run);
    const resumed = await evaluate(run, {}, { resume: folder });
    expect([resumed.folder, resumed.success]).toEqual([folder, success]);
  });

  it("ends with the reason of an abort", async () => {
    const signal = AbortSignal.abort(new Error("nobody waits"));
    await expect(evaluate(run, {}, { signal })).rejects.toThrow("nobody waits");
  });

  it("refuses a model's folder without presets to play, and a list of models", async () => {
    await expect(evaluate(join(packageRoot, "config/models/nano"))).rejects.toThrow(/names nothing to play; nearest: /);
    const models = { evaluation: { models: [{ name: "a", path: run, temperature: null, endpoint: {} }] } };
    await expect(evaluate(file, models)).rejects.toThrow(/^evaluation\.models: 1 models: evaluate plays one/);
  });
});

describe("sft from code", () => {
  const stepsOf = async (steps: AsyncIterable<CloningStep>): Promise<readonly number[]> => {
    const numbers: number[] = [];
    for await (const { step } of steps) numbers.push(step);
    return numbers;
  };

  it("gives each step, and the model at the end", { timeout: patience }, async () => {
    const output = join(root, "cloned");
    await using cloning = await sft(file, { sft: { output } });
    expect(await stepsOf(cloning.steps)).toEqual([1, 2, 3]);
    expect(await cloning.ended).toEqual({ folder: cloning.folder, model: output, step: 3, reason: "complete" });
    await using policy = await openPolicy(output);
    expect((await policy.generate("up", { maxTokens: 4 })).ids.length).toBeGreaterThan(0);
  });

  it("stops with a checkpoint, from which it goes on", { timeout: patience }, async () => {
    const changes = { sft: { output: join(root, "stopped"), steps: 50 } };
    const cloning = await sft(file, changes);
    for await (const { step } of cloning.steps) if (step === 1) cloning.stop();
    const stopped = await cloning.ended;
    expect(stopped.reason).toBe("stopped");
    expect(stopped.step).toBeLessThan(50);
    expect(stopped.model).toBe(join(stopped.folder, "checkpoints", `step-${stopped.step}`));
    expect(existsSync(join(stopped.model, "model.safetensors"))).toBe(true);
    await using resumed = await sft(file, changes, { resume: cloning.folder });
    expect((await stepsOf(resumed.steps))[0]).toBe(stopped.step + 1);
    expect((await resumed.ended).step).toBe(50);
  });

  it("rejects with what is wrong, without a stack", async () => {
    const sources = [{ tag: "FrozenLak", player: "solver", episodes: 1, mistakes: 0 } as const];
    const error = await sft(file, { sft: { sources } }).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(BadInput);
    expect(error).toMatchObject({
      message: expect.stringContaining("FrozenLak"),
      stack: expect.not.stringContaining("\n    at "),
    });
  });
});

it.each([
  ["train", () => trainFromCode("quickstart", {}, { rewards: () => 1 } as object), "reward"],
  ["evaluate", () => evaluate("quickstart", {}, { resumes: "x" } as object), "resume"],
  ["sft", () => sft("quickstart", {}, { signal: true } as object), "signals"],
  ["openPolicy", () => openPolicy("quickstart", {}, { environment: {} } as object), "environments"],
] as const)("%s refuses an option that it does not have", async (call, run, nearest) => {
  await expect(run()).rejects.toThrow(new RegExp(`^${call}: unknown option ".*"; nearest: ${nearest}; all: `));
});
