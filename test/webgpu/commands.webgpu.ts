/** The command line on WebGPU: a run of async steps from its first line to its checkpoint, and what it says where there is no adapter. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect } from "effect";
import { expect, it } from "vitest";
import { render } from "../../src/config/render.ts";
import { hasFloat16 } from "../../src/model/runtime/deviceProbe.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { writeModel } from "../pipelines/tiny.ts";
import { noAdapter } from "./adapter.ts";
import { webgpu } from "./compared.ts";

const root = new URL("../..", import.meta.url).pathname;

/** A tiny run of two steps in a folder of its own. */
const prepared = async (): Promise<{ readonly dir: string; readonly file: string }> => {
  const dir = mkdtempSync(join(tmpdir(), "millrace-webgpu-run-"));
  await Effect.runPromise(writeModel(dir));
  const config = tinyConfig(dir, {
    trainer: { total_training_steps: 2, save_freq: 0 },
    algorithm: { adv_estimator: "grpo" },
    rollout: { max_turn: 1, response_length: 4 },
    // generation and updates at once: both threads want the device
    pipeline: { mode: "async" },
    metrics: { console: "plain" },
  });
  const file = join(dir, "run.yaml");
  writeFileSync(file, render(config));
  return { dir, file };
};

const millrace = (command: string, file: string, env: NodeJS.ProcessEnv, ...overrides: readonly string[]) =>
  spawnSync(process.execPath, [join(root, "pipelines/millrace.mjs"), command, "--config-name", file, ...overrides], {
    cwd: root,
    env: { ...process.env, ...env },
    encoding: "utf8",
  });

const train = (file: string, env: NodeJS.ProcessEnv, ...overrides: readonly string[]) =>
  millrace("train", file, env, ...overrides);

/** Without what the WebGPU implementation says of a driver's limits (of lavapipe's, for one). */
const ownLines = (stderr: string): string => stderr.replace(/^Warning: max\w+ artificially reduced .*\n/gm, "");

it("trains with generation and updates at once, and says what differs from the CPU", async () => {
  const { dir, file } = await prepared();
  const ended = train(file, {}, "model.device=webgpu");
  expect(ownLines(ended.stderr)).toBe("");
  expect(ended.status).toBe(0);
  expect(ended.stdout).toContain("generator on webgpu, learner on webgpu: the same seed does not give the same bits");
  expect(ended.stdout).toContain("copied between the two through host memory");
  const runs = join(dir, "runs", "tiny");
  const [run = ""] = readdirSync(runs);
  expect(existsSync(join(runs, run, "checkpoints", "step-2", "model.safetensors"))).toBe(true);
  expect(
    readFileSync(join(runs, run, "metrics.jsonl"), "utf8")
      .trim()
      .split("\n"),
  ).toHaveLength(2);
});

it("trains an adapter, and plays what it came to", async () => {
  const { dir, file } = await prepared();
  const given = ["model.device=webgpu", "model.lora.rank=4", "actor.use_kl_loss=true", "algorithm.adv_estimator=gae"];
  const ended = train(file, {}, ...given);
  expect(ownLines(ended.stderr)).toBe("");
  expect(ended.status).toBe(0);
  expect(ended.stdout).toContain("each version's adapter is copied between the two through host memory");
  expect(ended.stdout).toContain("the weights beside the adapter are uploaded once for the generator and the learner");
  const runs = join(dir, "runs", "tiny");
  const [run = ""] = readdirSync(runs);
  const checkpoint = join(runs, run, "checkpoints", "step-2");
  expect(readdirSync(checkpoint)).toContain("adapter_model.safetensors");
  const evaluation = millrace("evaluate", file, {}, "model.device=webgpu", `model.path=${checkpoint}`);
  expect(evaluation.stderr).toContain("4 of 4 episodes");
  expect(evaluation.status).toBe(0);
  expect(evaluation.stdout).toContain("generator on webgpu: the same seed does not give the same bits");
});

it("refuses with one message where no adapter is found, and leaves nothing behind", async () => {
  const { dir, file } = await prepared();
  const ended = train(file, noAdapter(), "model.device=webgpu");
  expect(ended.status).toBe(2);
  // Vulkan's loader has warnings of its own before it
  expect(ended.stderr.trimEnd().split("\n").at(-1)).toMatch(
    /^model\.device: webgpu: no WebGPU adapter was found; .*nearest: cpu$/,
  );
  expect(existsSync(join(dir, "runs"))).toBe(false);
});

it("generates in float16 where the adapter has it, and says so; else refuses", async () => {
  const { dir, file } = await prepared();
  const ended = train(file, {}, "model.device=webgpu", "model.generator_dtype=float16");
  if (await hasFloat16(webgpu)) {
    expect(ended.status).toBe(0);
    expect(ended.stdout).toContain("generation with float16 weights and caches");
    return;
  }
  expect(ended.status).toBe(2);
  expect(ended.stderr.trimEnd().split("\n").at(-1)).toBe(
    "model.generator_dtype: float16: webgpu: the adapter has no float16 (the feature shader-f16); nearest: float32",
  );
  expect(existsSync(join(dir, "runs"))).toBe(false);
});

it("refuses CUDA where this installation has no provider for it", async () => {
  const { file } = await prepared();
  const ended = train(file, {}, "model.learner_device=cuda:1");
  expect(ended.status).toBe(2);
  expect(ended.stderr).toContain(
    "model.learner_device: cuda:1: this installation of onnxruntime-node has no CUDA provider",
  );
  expect(ended.stderr).toContain("nearest: cpu");
});
