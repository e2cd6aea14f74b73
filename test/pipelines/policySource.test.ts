/** The words that name a policy in code: runs, their steps and checkpoints, run files and models' folders. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect } from "effect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPolicy } from "../../pipelines/main.ts";
import { composePolicy } from "../../pipelines/policySource.ts";
import type { RunFile } from "../../pipelines/RunFile.ts";
import { packageRoot } from "../../src/support/files/packageRoot.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { train, writeModel } from "./tiny.ts";

/** Milliseconds on a machine that others use too; a few seconds on a quiet one. */
const patience = 240_000;

let root: string;
let run: string;

/** A run of three steps that trains an adapter. */
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "millrace-source-"));
  await Effect.runPromise(writeModel(root));
  const changes = { model: { lora: { rank: 4, alpha: 8 } }, trainer: { save_freq: 1 } };
  await Effect.runPromise(train({ config: tinyConfig(root, changes), resume: null }));
  const runs = join(root, "runs", "tiny");
  run = join(runs, readdirSync(runs)[0] ?? "");
}, patience);
afterAll(() => rmSync(root, { recursive: true, force: true }));

const compose = (word: string, changes: RunFile = {}) => Effect.runPromise(composePolicy("policy", word, changes, {}));
const checkpoint = (step: number) => join(run, "checkpoints", `step-${step}`);

describe("a policy's word", () => {
  it("is a run, for its newest checkpoint under its own run file", async () => {
    const { config, hasRunFile } = await compose(join(root, "runs", "tiny"));
    expect(config.model).toMatchObject({ path: checkpoint(3), adapter: "" });
    expect(config.rollout.response_length).toBe(8);
    expect(hasRunFile).toBe(true);
  });

  it("names a step of a run, or one of its checkpoints", async () => {
    expect((await compose(`${run}@2`)).config.model.path).toBe(checkpoint(2));
    const { config } = await compose(checkpoint(1));
    expect([config.model.path, config.rollout.response_length]).toEqual([checkpoint(1), 8]);
  });

  it("is a run file, whose own model counts", async () => {
    expect((await compose("quickstart")).config.model.path).toBe("config/models/nano");
  });

  it("is a model's folder, under a run file without values of its own", async () => {
    const nano = join(packageRoot, "config/models/nano");
    const { config, hasRunFile } = await compose(nano);
    expect([config.model.path, config.rollout.template, hasRunFile]).toEqual([nano, "ragen", false]);
  });

  it("lies below the changes", async () => {
    const { config } = await compose(run, { rollout: { response_length: 5 }, model: { path: checkpoint(1) } });
    expect([config.rollout.response_length, config.model.path]).toEqual([5, checkpoint(1)]);
  });

  it.each([
    ["quickstar", "; nearest: quickstart"],
    ["runs/no-such-run@3", '^policy: "runs/no-such-run": no such folder'],
  ])("is refused where it names nothing: %s", async (word, message) => {
    await expect(compose(word)).rejects.toThrow(new RegExp(message));
  });

  it("does not let a run's folder bring code, unless the changes name it", async () => {
    const folder = join(root, "foreign");
    cpSync(run, folder, { recursive: true });
    mkdirSync(join(folder, "code"));
    const env_type = join(folder, "code", "env.ts");
    writeFileSync(env_type, "export default {};");
    const foreign = { custom_envs: { Foreign: { env_type } } };
    const text = `\ncustom_envs:\n  Foreign:\n    env_type: ${env_type}\n`;
    writeFileSync(join(folder, "config.yaml"), `defaults: [base]\n${text}`);
    const refused = Effect.runPromise((await compose(folder)).checkTrusted);
    await expect(refused).rejects.toThrow(
      /names code outside your project: custom_envs\.Foreign\.env_type .*name it in/,
    );
    await expect(Effect.runPromise((await compose(folder, foreign)).checkTrusted)).resolves.toBeUndefined();
  });
});

describe("an open policy of a run", () => {
  it("samples an adapter's checkpoint, with the version that its training gave it", { timeout: patience }, async () => {
    await using policy = await openPolicy(`${run}@2`);
    expect(policy.model).toBe(checkpoint(2));
    const reply = await policy.generate("up", { seed: 1 });
    expect([reply.version, reply.ids.length > 0]).toEqual([2, true]);
  });

  it("plays as the validation of its run", { timeout: patience }, async () => {
    await using policy = await openPolicy(run);
    const { sequences, tag } = await policy.play("FrozenLake", { seed: 124 });
    expect(tag).toBe("FrozenLake");
    expect(sequences[0]?.turns[0]?.sampled.versions[0]).toBe(3);
  });
});
