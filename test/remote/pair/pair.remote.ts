/**
 * SkyRL that trains beside vLLM that samples for it, set up as docs/remote.md says: versions are snapshots there, so that sampling and training
 * overlap. One pair of servers serves all tests.
 */
import { execFile } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, layer } from "@effect/vitest";
import { Context, Duration, Effect, Fiber, Layer } from "effect";
import { PolicyLossGradient } from "../../../src/learner/losses/PolicyLossGradient.ts";
import * as Connection from "../../../src/remote/tinker/Connection.ts";
import { operationRunner } from "../../../src/remote/tinker/operationRunner.ts";
import { TinkerActor } from "../../../src/remote/tinker/TinkerActor.ts";
import * as TinkerGenerator from "../../../src/remote/tinker/TinkerGenerator.ts";
import { TinkerModel } from "../../../src/remote/tinker/TinkerModel.ts";
import { datumOf } from "../../../src/remote/tinker/wire/Data.ts";
import { packageRoot } from "../../../src/support/files/packageRoot.ts";
import { creditedBatch } from "../../build/batches.ts";
import { configWith } from "../../build/config.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { block, served, skyrlEnvironment, stepsOf, vllmEnvironment } from "../document.ts";
import { freePort } from "../processes.ts";
import { clientAt } from "../tinker/remote.ts";
import { vocabSize, writeTinyQwen3 } from "../tinyQwen3.ts";

interface Pair {
  readonly url: string;
  readonly folder: string;
  readonly model: string;
}

class Servers extends Context.Service<Servers, Pair>()("test/Servers") {
  static readonly layer = Layer.effect(
    Servers,
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      const model = join(folder, "models", "tiny");
      yield* writeTinyQwen3(model);
      const [port, vllmPort] = [yield* Effect.promise(freePort), yield* Effect.promise(freePort)];
      const ports = { VLLM_PORT: String(vllmPort) };
      const vllm = {
        script: block("sh name=pair-vllm"),
        folder,
        env: { ...vllmEnvironment(model), ...ports },
        health: `http://127.0.0.1:${vllmPort}/health`,
      };
      const url = `http://127.0.0.1:${port}`;
      const skyrl = {
        script: block("sh name=pair-skyrl"),
        folder,
        env: { ...skyrlEnvironment(model, port), ...ports },
        health: `${url}/api/v1/healthz`,
      };
      yield* Effect.all([served(vllm), served(skyrl)], { concurrency: "unbounded" });
      return { url, folder, model };
    }),
  );
}

const lora = { rank: 8, seed: 3, train_attn: true, train_mlp: true, train_unembed: false };
const actor = { ...configWith().actor, entropy_coeff: 0, grad_clip: 0 };
const algorithm = configWith({ algorithm: { adv_estimator: "grpo" } }).algorithm;
const batch = creditedBatch({ seed: 5, lengths: [12, 20, 9, 16], vocabulary: vocabSize });
const run = operationRunner(new AbortController().signal, () => false);
const data = [0, 1, 2, 3].map((row) => datumOf(batch.ids.slice(batch.offsets[row], batch.offsets[row + 1])));
const prompt = batch.ids.slice(0, 12);

/** A trained model on the server, and a generator that is told of its versions as a run tells it. */
const trained = Effect.gen(function* () {
  const { model: baseModel, url } = yield* Servers;
  const connection = yield* Connection.open(clientAt(url));
  const model = yield* Effect.acquireRelease(
    TinkerModel.create(connection, { baseModel, lora, requestTokens: 100_000 }, 0),
    (model) => Effect.ignore(model.unload()),
  );
  const loss = yield* Effect.promise(() => PolicyLossGradient.open(actor, algorithm));
  const names: string[] = [];
  const policy = new TinkerActor(model, loss, run, { actor, reduction: "mean", onVersion: (name) => names.push(name) });
  const generator = yield* TinkerGenerator.make({
    client: clientAt(url, { role: "generator" }),
    sessions: "snapshots",
    stopIds: new Set([1]),
    stops: () => null,
    vocabSize,
    maxPositions: 512,
    slots: 8,
  });
  const publish = (version: number) =>
    Effect.gen(function* () {
      yield* Effect.promise(() => policy.commitVersion());
      const payload = { _tag: "remote", id: names.at(-1)! } as const;
      generator.ports[0]!.postMessage({ _tag: "weights", version, payload });
      yield* generator.awaitVersion(version);
    });
  const step = Effect.promise(async () => {
    const old = await policy.score(batch);
    const advantages = Float32Array.from(batch.mask, (trains, t) => trains * (t % 2 === 0 ? 1 : -1));
    const importance = new Float32Array(batch.ids.length).fill(1);
    const targets = { old, advantages, importance, reference: undefined };
    return policy.step(batch, [0, 1, 2, 3], targets, 2e-2, new Float32Array(batch.ids.length));
  });
  return { generator, model, publish, step };
});

const asking = (sequence: number, pin: number | null) => ({
  sequence,
  append: prompt,
  sharedPrefix: 0,
  maxTokens: 8,
  sampling: { temperature: 1, topK: -1, topP: 1 },
  key: { seed: 1, purpose: "sampling", counters: [0] } as const,
  pin,
});

const farthest = (a: Float32Array, b: Float32Array) => a.reduce((most, v, i) => Math.max(most, Math.abs(v - b[i]!)), 0);

layer(Servers.layer, { timeout: Duration.minutes(10), excludeTestServices: true })("SkyRL beside vLLM", (it) => {
  it.effect("answers an older version with the same bits after an update, and the trainer stays where it is", () =>
    Effect.gen(function* () {
      const { generator, model, publish, step } = yield* trained;
      yield* publish(0);
      const before = yield* generator.generate(asking(1, 0));
      expect(yield* step).toMatchObject({ applied: true });
      yield* publish(1);
      const stepped = yield* model.forward(data);
      const again = yield* generator.generate(asking(2, 0));
      expect([again.ids, again.mu]).toEqual([before.ids, before.mu]);
      const fresh = yield* generator.generate(asking(3, null));
      expect(new Set(fresh.versions)).toEqual(new Set([1]));
      const [scores = new Float32Array()] = yield* model.forward([datumOf(Int32Array.from([...prompt, ...fresh.ids]))]);
      expect(farthest(fresh.mu, scores.slice(-fresh.ids.length))).toBeLessThan(1e-4);
      const after = yield* model.forward(data);
      expect(Math.max(...after.map((values, i) => farthest(values, stepped[i]!)))).toBeLessThan(1e-6);
    }).pipe(Effect.scoped),
  );

  it.effect("samples while the trainer steps", () =>
    Effect.gen(function* () {
      const { generator, publish, step } = yield* trained;
      yield* publish(0);
      // Both sides compile at their first request.
      yield* generator.generate(asking(1, null));
      yield* step;
      const stepping = yield* Effect.forkChild(step, { startImmediately: true });
      const finished = () => stepping.pollUnsafe() !== undefined;
      let meanwhile = 0;
      for (let sequence = 2; !finished(); sequence++) {
        const reply = yield* generator.generate(asking(sequence, null));
        expect(new Set(reply.versions)).toEqual(new Set([0]));
        if (!finished()) meanwhile++;
      }
      expect(yield* Fiber.join(stepping)).toMatchObject({ applied: true });
      expect(meanwhile).toBeGreaterThan(0);
    }).pipe(Effect.scoped),
  );

  it.effect("trains a run of five updates asynchronously, within its staleness bound", () =>
    Effect.gen(function* () {
      const { folder, model, url } = yield* Servers;
      writeFileSync(join(folder, "tinker.yaml"), block("yaml name=run"));
      const words = [
        ...["train", "--config-name", "./tinker.yaml", `model.path=${model}`, `model.learner.url=${url}`],
        ...["model.learner.sessions=snapshots", "pipeline.mode=async", "pipeline.max_staleness=2"],
        ...["trainer.total_training_steps=5", "trainer.test_freq=0", "trainer.val_before_train=false"],
        ...["trainer.val_at_end=false", "es_manager.train.env_groups=2", "es_manager.train.group_size=4"],
        ...["es_manager.train.n_groups=[2]", "rollout.template=compact", "rollout.response_length=12"],
        ...["rollout.max_model_len=512", "filter.include_zero=true", "actor.lr=1e-2", "actor.ppo_mini_batch_size=8"],
        "metrics.console=off",
      ];
      const bin = join(packageRoot, "pipelines", "millrace.mjs");
      yield* Effect.promise(() => promisify(execFile)(process.execPath, [bin, ...words], { cwd: folder }));
      const [name = ""] = readdirSync(join(folder, "runs", "tinker"));
      const steps = stepsOf(join(folder, "runs", "tinker", name));
      expect(steps.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5]);
      for (const record of steps) {
        const parts = ["trained", "filtered", "failed", "dropped", "in_flight"].map(
          (part) => record[`ledger/${part}`] ?? 0,
        );
        expect(record["ledger/admitted"]).toBe(parts.reduce((a, b) => a + b, 0));
        expect(record["staleness/max"]).toBeLessThanOrEqual(2);
      }
      // Later windows were sampled while the trainer stepped.
      expect(steps.some((record) => (record["staleness/max"] ?? 0) > 0)).toBe(true);
    }),
  );
});
