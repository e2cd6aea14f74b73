/**
 * Millrace's side of the bench beside it: a process that answers one JSON line with one JSON line. It opens a model's folder and runs the
 * product's own learner and generator over what each line names, with two threads in all.
 */
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Effect, Exit, Scope } from "effect";
import { settleAllocation } from "../../../pipelines/launcher.mjs";
import type { CreditedBatch } from "../../../src/domain/Batch.ts";
import { learner } from "../../../src/domain/metrics/learner.ts";
import { valueIn } from "../../../src/domain/metrics/Metrics.ts";
import { bucket } from "../../../src/domain/Passes.ts";
import * as Generator from "../../../src/generation/Generator.ts";
import { Trainer } from "../../../src/learner/Trainer.ts";
import { type Checkpoint, readCheckpoint } from "../../../src/model/checkpoint/HuggingFaceFolder.ts";
import { Mailbox, Snapshot } from "../../../src/model/weights/Mailbox.ts";
import { batchWith } from "../../../test/build/batches.ts";
import { configWith, learnerSections } from "../../../test/build/config.ts";
import { prefillAndDecode, Sequences } from "../Sequences.ts";
import { resetPeak, residentMiB } from "./resident.ts";

interface Rows {
  /** Ids of each sequence, all of one length. */
  readonly ids: readonly (readonly number[])[];
}

interface UpdateRequest extends Rows {
  readonly do: "update" | "score";
  /** Last ids of every sequence that are trained on. */
  readonly trained: number;
  readonly microRows: number;
  /** Per sequence and trained id; `score` has none. */
  readonly old?: readonly (readonly number[])[];
  readonly advantages?: readonly (readonly number[])[];
}

interface GenerateRequest extends Rows {
  readonly do: "decode" | "prefill";
  readonly tokens: number;
}

interface StepRequest extends Rows {
  readonly do: "step";
  readonly tokens: number;
  readonly group: number;
  readonly microRows: number;
}

interface OpenRequest {
  readonly do: "open";
  readonly folder: string;
  readonly lanes: number;
  readonly lr: number;
  /** 0 leaves gradients as they are. */
  readonly gradClip?: number;
}

interface ChatRequest {
  readonly do: "chat";
  /** Ids that come before each reply. */
  readonly turns: readonly (readonly number[])[];
  readonly tokens: number;
  readonly temperature: number;
  /** Ids that end a reply. */
  readonly ends: readonly number[];
}

type Request =
  | OpenRequest
  | { readonly do: "memory" }
  | { readonly do: "gradients"; readonly file: string }
  | ChatRequest
  | UpdateRequest
  | GenerateRequest
  | StepRequest;

// As the product's own process.
settleAllocation();

const THREADS = 2;
const scope = await Effect.runPromise(Scope.make());
let model: Checkpoint;
let options: OpenRequest;
let trainer: Trainer | undefined;
let generation: { readonly generator: Generator.Generator; readonly sequences: Sequences } | undefined;
let mailboxes: readonly Mailbox[] = [];

/** Positions that a pass of `rows` sequences of `time` takes, padding among them. */
const passTokens = (rows: number, time: number): number => rows * bucket(time);

const openTrainer = async (microTokens: number, sharesPrompts = false): Promise<Trainer> => {
  const { lanes, lr, gradClip = 1 } = options;
  trainer ??= await Trainer.open(model.config, model.parameters, {
    seed: 1,
    lanes,
    threads: THREADS / lanes,
    lossScaling: "none",
    totalUpdates: 1000,
    ...learnerSections({
      algorithm: { adv_estimator: "grpo" },
      actor: {
        lr,
        grad_clip: gradClip,
        ppo_mini_batch_size: 1024,
        micro_batch_tokens: microTokens,
        use_prefix_grouper: sharesPrompts,
        clip_ratio_high: 0.2,
      },
    }),
  });
  return trainer;
};

interface GeneratorUse {
  /** Ids that end a reply; default none. */
  readonly ends?: readonly number[];
  /** True if weights never change, as in an evaluation, which packs them once. */
  readonly isFixed: boolean;
}

const openGenerator = async (rows: number, { ends = [], isFixed }: GeneratorUse) => {
  if (generation !== undefined) return generation;
  const generator = await Effect.runPromise(
    Generator.make({
      config: model.config,
      version: 0,
      parameters: model.parameters.flat,
      threads: THREADS,
      prepacks: isFixed,
      generation: { slots: Math.ceil(rows / THREADS), stop: [], kv_on_update: "keep", prefill_tokens: 4096 },
      stopIds: ends,
      bytesOf: () => Uint8Array.of(97),
    }).pipe(Scope.provide(scope)),
  );
  generation = { generator, sequences: new Sequences(generator) };
  return generation;
};

const spread = (trained: number, rows: readonly (readonly number[])[] | undefined, time: number, count: number) => {
  const flat = new Float32Array(count * time);
  for (const [row, values] of (rows ?? []).entries()) flat.set(values, row * time + time - trained);
  return flat;
};

const batchOf = ({ ids, trained, old, advantages }: UpdateRequest, group = 4): CreditedBatch => {
  const [rows, time] = [ids.length, ids[0]?.length ?? 0];
  const mask = Uint8Array.from({ length: rows * time }, (_, t) => (t % time >= time - trained ? 1 : 0));
  const batch = batchWith({
    ids: Int32Array.from(ids.flat()),
    offsets: Int32Array.from({ length: rows + 1 }, (_, row) => row * time),
    mask,
    mu: spread(trained, old, time, rows),
    groups: Int32Array.from({ length: rows }, (_, row) => Math.floor(row / group)),
    members: Int32Array.from({ length: rows }, (_, row) => row % group),
  });
  const zeros = new Float32Array(rows * time);
  return { ...batch, advantages: spread(trained, advantages, time, rows), values: zeros, returns: zeros };
};

const update = async (request: UpdateRequest) => {
  const time = request.ids[0]?.length ?? 0;
  const opened = await openTrainer(passTokens(request.microRows, time));
  const batch = batchOf(request);
  const begun = performance.now();
  const { metrics } = await opened.update(batch);
  const ms = performance.now() - begun;
  return {
    ms,
    surrogate: valueIn(metrics, learner.pgLoss),
    entropy: valueIn(metrics, learner.entropy),
    norm: valueIn(metrics, learner.gradNorm),
  };
};

const score = async (request: UpdateRequest) => {
  const { ids, trained } = request;
  const time = ids[0]?.length ?? 0;
  const opened = await openTrainer(passTokens(request.microRows, time));
  const logp = await opened.logp(batchOf(request));
  return { logp: ids.map((_, row) => [...logp.subarray((row + 1) * time - trained, (row + 1) * time)]) };
};

/** `prefill` times a prompt and its first token; `decode` the tokens behind one that is cached. */
const generate = async ({ do: what, ids, tokens }: GenerateRequest) => {
  const { sequences } = await openGenerator(ids.length, { isFixed: true });
  const { prefillMs, decodeMs } = await prefillAndDecode(sequences, ids, what === "decode" ? tokens : 0);
  return { ms: what === "decode" ? decodeMs : prefillMs };
};

/** A chat that is played alone, turn after turn in one cache. */
const chat = async ({ turns, tokens, temperature, ends }: ChatRequest) => {
  const { sequences } = await openGenerator(2, { ends, isFixed: true });
  const sequence = sequences.open(1);
  const replies: { readonly ids: readonly number[]; readonly mu: readonly number[] }[] = [];
  for (const [turn, append] of turns.entries()) {
    const { ids, mu } = await Effect.runPromise(sequences.reply(sequence, turn, { append, tokens }, temperature));
    replies.push({ ids: [...ids], mu: [...mu] });
  }
  await sequences.release(sequence, 1);
  return { replies };
};

/** Writes the gradient that the one update so far took, as AdamW's first moment has it: float32, tensor after tensor. */
const gradients = async (file: string) => {
  if (trainer === undefined) throw new Error("there was no update");
  const { moments, parameters } = trainer.networks.actor;
  const [kept] = configWith().actor.betas;
  writeFileSync(file, new Uint8Array(moments.first.map((value) => value / (1 - kept)).buffer));
  return { specs: parameters.specs };
};

/** A reward that any side can compute: the share of even ids. */
const rewardOf = (ids: Int32Array): number => ids.filter((id) => id % 2 === 0).length / ids.length;

/** Each reward minus its group's mean, over the group's deviation. */
const advantagesOf = (rewards: readonly number[], group: number): readonly number[] =>
  rewards.map((reward, i) => {
    const groupRewards = rewards.slice(i - (i % group), i - (i % group) + group);
    const mean = groupRewards.reduce((sum, each) => sum + each, 0) / group;
    const deviation = Math.sqrt(groupRewards.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (group - 1));
    return (reward - mean) / (deviation + 1e-4);
  });

/** A whole GRPO step: sample, reward, update, and the new weights in the generators. A group's prompt is computed once. */
const step = async ({ ids, tokens, group, microRows }: StepRequest) => {
  const { generator, sequences } = await openGenerator(ids.length, { isFixed: false });
  const time = (ids[0]?.length ?? 0) + tokens;
  const opened = await openTrainer(passTokens(Math.max(group, microRows), time), true);
  if (mailboxes.length === 0) mailboxes = generator.ports.map((port) => new Mailbox(port));
  const first = sequences.open(ids.length);
  const begun = performance.now();
  const prompts = ids.map((append) => ({ append, tokens, sharedPrefix: append.length }));
  const replies = await sequences.replies(first, 1, prompts);
  const sampled = performance.now();
  const advantages = advantagesOf(
    replies.map((reply) => rewardOf(reply.ids)),
    group,
  );
  await opened.update(
    batchOf(
      {
        do: "update",
        ids: ids.map((prompt, row) => [...prompt, ...replies[row]!.ids]),
        trained: tokens,
        microRows,
        old: replies.map((reply) => [...reply.mu]),
        advantages: advantages.map((advantage) => new Array<number>(tokens).fill(advantage)),
      },
      group,
    ),
  );
  const { version } = opened.state;
  const snapshot = new Snapshot(
    { version, kind: "full" },
    opened.networks.actor.parameters.flat.slice(),
    mailboxes.length,
  );
  for (const mailbox of mailboxes) mailbox.publish(snapshot);
  await sequences.release(first, ids.length);
  await Effect.runPromise(generator.awaitVersion(version));
  const end = performance.now();
  return { ms: end - begun, sampling: sampled - begun, update: end - sampled };
};

const open = async (folder: string) => {
  resetPeak();
  const idle = residentMiB().now;
  model = await Effect.runPromise(readCheckpoint(folder));
  return { idle, parameters: model.parameters.flat.length };
};

const answer = (request: Request): Promise<object> => {
  switch (request.do) {
    case "open":
      options = request;
      return open(request.folder);
    case "memory":
      return Promise.resolve(residentMiB());
    case "update":
      return update(request);
    case "score":
      return score(request);
    case "step":
      return step(request);
    case "chat":
      return chat(request);
    case "gradients":
      return gradients(request.file);
    default:
      return generate(request);
  }
};

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line)))}\n`);
}
await trainer?.[Symbol.asyncDispose]();
await Effect.runPromise(Scope.close(scope, Exit.void));
process.exit(0);
