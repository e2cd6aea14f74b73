/**
 * How near `millrace plan` comes: the peak it names for a run, and the peak that the run's process takes (VmHWM of /proc). Weights are random, so
 * that any shape can be had, with the nano tokenizer; episodes go on until their context is full.
 * `node bench/plan.ts FOLDER CASE [key.sub=value ...]`: FOLDER gets the model and the run; prints one JSON object.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Effect } from "effect";
import { compose } from "../pipelines/main.ts";
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

const isShape = (name: string | undefined): name is keyof typeof shapes => name !== undefined && name in shapes;

const [given, name, ...overrides] = process.argv.slice(2);
if (given === undefined || !isShape(name)) {
  console.error(`node bench/plan.ts FOLDER (${Object.keys(shapes).join(" | ")}) [key.sub=value ...]`);
  process.exit(2);
}
const folder = resolve(given);
const model = join(folder, name);
const config = shapes[name];
if (!existsSync(join(model, "config.json"))) {
  mkdirSync(model, { recursive: true });
  const random = stream({ seed: 1, purpose: "initialisation", counters: [] });
  const tokens = { bos: undefined, eos: [2], pad: 0 };
  const made = {
    config,
    tokens,
    parameters: initialise(parameters(config), random),
    format: "F32",
    tokenizer: nanoTokenizer(),
  } as const;
  await Effect.runPromise(writeCheckpoint(model, made));
}

/** A short run whose windows are trained on whatever they earn. */
const run = [
  `model.path=${model}`,
  `run.dir=${join(folder, "runs")}`,
  "trainer.total_training_steps=3",
  "trainer.test_freq=0",
  "trainer.val_before_train=false",
  "trainer.val_at_end=false",
  "trainer.save_freq=0",
  "es_manager.train={env_groups: 2, group_size: 4, tags: [FrozenLake], n_groups: [2]}",
  "es_manager.val={env_groups: 1, group_size: 1, tags: [FrozenLake], n_groups: [1]}",
  "rollout.max_turn=100",
  "rollout.max_model_len=256",
  "rollout.response_length=16",
  "actor.ppo_mini_batch_size=8",
  "generation.slots=8",
  "generation.stop=[]",
  "pipeline.mode=sync",
  "filter.value=1",
  "filter.include_zero=true",
  "algorithm.adv_estimator=grpo",
  "actor.use_kl_loss=false",
  "actor.entropy_coeff=0.01",
  "model.learner_lanes=1",
  "metrics.console=off",
  ...overrides,
];

const resolved = await compose("quickstart", run);
const planned = plan({ config: resolved, decoder: config, tokenizerBytes: 20_000, unit: null });

const entry = new URL("../pipelines/millrace.mjs", import.meta.url).pathname;
const child = spawn(process.execPath, [entry, "train", "--config-name", "quickstart", ...run], {
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
