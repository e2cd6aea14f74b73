/**
 * `node bench/plan.ts FOLDER CASE [key.sub=value ...]` compares the peak that `millrace plan` predicts for a run with
 * the peak of the run's process (VmHWM of /proc). FOLDER gets the model and the run; the output is one JSON object.
 * Weights are random, so that any shape can be had, with the nano tokenizer, unless FOLDER holds the model that a case
 * names. Episodes of several turns go on until their context is full.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Effect } from "effect";
import { plannedRun } from "../pipelines/plannedRun.ts";
import { checkedRun } from "../pipelines/prepareRun.ts";
import { stream } from "../src/domain/Random.ts";
import { writeCheckpoint } from "../src/model/checkpoint/HuggingFaceFolder.ts";
import { type DecoderConfig, familyDefaults, parameters } from "../src/model/graphs/Architecture.ts";
import { initialise } from "../src/model/graphs/Parameters.ts";
import { nanoTokenizer } from "../src/model/tokenizer/NanoVocabulary.ts";
import { plan } from "../src/tools/planning/Plan.ts";

const common = {
  ...familyDefaults.qwen2,
  rmsNormEps: 1e-6,
  ropeTheta: 10_000,
  maxPositions: 2048,
  headDim: 64,
  tieEmbedding: true,
} as const satisfies Partial<DecoderConfig>;

/** The embedded model, 25 M parameters, SmolLM2-135M and Qwen2.5-0.5B. */
const shapes = {
  nano: {
    ...common,
    vocabSize: 640,
    hiddenSize: 128,
    intermediateSize: 384,
    layers: 4,
    heads: 4,
    kvHeads: 2,
    headDim: 32,
  },
  "25M": { ...common, vocabSize: 16_384, hiddenSize: 384, intermediateSize: 1024, layers: 10, heads: 6, kvHeads: 2 },
  "135M": { ...common, vocabSize: 49_152, hiddenSize: 576, intermediateSize: 1536, layers: 30, heads: 9, kvHeads: 3 },
  "0.5B": { ...common, vocabSize: 151_936, hiddenSize: 896, intermediateSize: 4864, layers: 24, heads: 14, kvHeads: 2 },
} as const satisfies Readonly<Record<string, DecoderConfig>>;

/** Training ends soon and saves once. */
const short = [
  "trainer.total_training_steps=3",
  "trainer.val_before_train=false",
  "trainer.val_at_end=false",
  "trainer.test_freq=0",
  "trainer.save_freq=0",
  "metrics.console=off",
];

/** Windows are trained on whatever they earn. */
const everything = ["filter.value=1", "filter.include_zero=true"];

const fullContexts = [
  ...short,
  ...everything,
  "es_manager.train={env_groups: 2, group_size: 4, tags: [FrozenLake], n_groups: [2]}",
  "es_manager.val={env_groups: 1, group_size: 1, tags: [FrozenLake], n_groups: [1]}",
  "rollout.max_turn=100",
  "rollout.max_model_len=256",
  "rollout.response_length=16",
  "actor.ppo_mini_batch_size=8",
  "generation.slots=8",
  "generation.stop=[]",
  "pipeline.mode=sync",
  "algorithm.adv_estimator=grpo",
  "actor.use_kl_loss=false",
  "actor.entropy_coeff=0.01",
  "model.learner_lanes=1",
];

const adapter = ["model.lora.rank=64", "model.lora.alpha=64", "model.lora.target_modules=all-linear"];

const fewSlots = [
  "actor.gradient_checkpointing=true",
  "generation.slots=4",
  "rollout.max_model_len=400",
  "es_manager.train={env_groups: 1, group_size: 4, tags: [FrozenLake], n_groups: [1]}",
  "actor.ppo_mini_batch_size=4",
  "actor.micro_batch_tokens=400",
];

interface Case {
  readonly shape: keyof typeof shapes;
  /** Name of the model's folder. */
  readonly model: string;
  readonly pipeline: "train" | "sft";
  readonly file: string;
  readonly keys: readonly string[];
}

const onQuickstart = (shape: Case["shape"], ...keys: readonly string[]): Case => ({
  shape,
  model: shape,
  pipeline: "train",
  file: "quickstart",
  keys: [...fullContexts, ...keys],
});

const bandit = { shape: "135M", model: "SmolLM2-135M-Instruct", file: "smollm2_bandit" } as const;

const cases: Readonly<Record<string, Case>> = {
  nano: onQuickstart("nano"),
  "nano-steps": onQuickstart("nano", "trainer.total_training_steps=40"),
  "25M": onQuickstart("25M"),
  "135M": onQuickstart("135M", "actor.micro_batch_tokens=256"),
  "135M-adapter-few-slots": onQuickstart("135M", ...adapter, ...fewSlots),
  "0.5B-adapter": onQuickstart("0.5B", ...adapter),
  bandit: { ...bandit, pipeline: "train", keys: [...short, ...everything] },
  "bandit-sft": {
    ...bandit,
    pipeline: "sft",
    keys: ["sft.steps=3", "sft.sources=[{tag: Bandit, player: random, episodes: 64}]"],
  },
};

const [given, name = "", ...overrides] = process.argv.slice(2);
const chosen = cases[name];
if (given === undefined || chosen === undefined) {
  console.error(`node bench/plan.ts FOLDER (${Object.keys(cases).join(" | ")}) [key.sub=value ...]`);
  process.exit(2);
}
const { file, keys, model: modelName, pipeline, shape } = chosen;
const folder = resolve(given);
const model = join(folder, modelName);
if (!existsSync(join(model, "config.json"))) {
  mkdirSync(model, { recursive: true });
  const config = shapes[shape];
  const random = stream({ seed: 1, purpose: "initialisation", counters: [] });
  const tokens = { bos: undefined, eos: [2], pad: 0 };
  const checkpoint = {
    config,
    tokens,
    parameters: initialise(parameters(config), random),
    format: "F32",
    tokenizer: nanoTokenizer(),
  } as const;
  await Effect.runPromise(writeCheckpoint(model, checkpoint));
}

const run = [
  `model.path=${model}`,
  `sft.init=${model}`,
  `sft.output=${join(folder, "cloned")}`,
  `run.dir=${join(folder, "runs")}`,
  ...keys,
  ...overrides,
];
const words = { configName: file, envs: null, overrides: run, resume: null };
const { config } = await Effect.runPromise(checkedRun(pipeline, words));
const planned = plan(await Effect.runPromise(plannedRun(pipeline, config)));

const entry = new URL("../pipelines/millrace.mjs", import.meta.url).pathname;
const child = spawn(process.execPath, [entry, pipeline, "--config-name", file, ...run], {
  stdio: ["ignore", "inherit", "inherit"],
});
let measured = 0;
const sampling = setInterval(() => {
  try {
    const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
    measured = Math.max(measured, 1024 * Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0));
  } catch {
    // It has ended.
  }
}, 100);
const code = await new Promise<number | null>((done) => child.on("exit", done));
clearInterval(sampling);
const MiB = 2 ** 20;
console.log(
  JSON.stringify({
    case: name,
    overrides,
    code,
    predictedMiB: Math.round(planned.peak / MiB),
    measuredMiB: Math.round(measured / MiB),
    ratio: planned.peak / measured,
    items: planned.items
      .filter(({ bytes }) => bytes > planned.peak / 50)
      .map(({ bytes, owner, what }) => `${owner}: ${what} ${Math.round(bytes / MiB)}`),
  }),
);
