/** The Tinker client against a real SkyRL server on the CPU. One server serves all of it; each test has models of its own. */
import { expect, layer } from "@effect/vitest";
import { Context, Duration, Effect, Layer, Redacted, Result, Schedule } from "effect";
import type { CreditedBatch } from "../../../src/domain/Batch.ts";
import type { ServerChange } from "../../../src/domain/Server.ts";
import { PolicyLossGradient } from "../../../src/learner/losses/PolicyLossGradient.ts";
import type { TrainerOptions } from "../../../src/learner/TrainerOptions.ts";
import * as Connection from "../../../src/remote/tinker/Connection.ts";
import { operationRunner } from "../../../src/remote/tinker/operationRunner.ts";
import { checkReference, chooseFormat, findForeignTokens, identifySkyRL } from "../../../src/remote/tinker/probes.ts";
import { adamParameters, normIn, TinkerActor } from "../../../src/remote/tinker/TinkerActor.ts";
import * as TinkerGenerator from "../../../src/remote/tinker/TinkerGenerator.ts";
import { TinkerModel } from "../../../src/remote/tinker/TinkerModel.ts";
import { datumOf } from "../../../src/remote/tinker/wire/Data.ts";
import { creditedBatch } from "../../build/batches.ts";
import { configWith } from "../../build/config.ts";
import { clientAt } from "../tinker/remote.ts";
import { vocabSize } from "../tinyQwen3.ts";
import { type SkyRL, skyrl } from "./SkyRL.ts";

/** Places for adapters; the base model takes one. */
const ADAPTERS = 4;
/** Seconds without a heartbeat, of which we send one every ten, that a session's models stay. */
const SILENCE = 25;

class Server extends Context.Service<Server, SkyRL>()("Server") {
  static readonly layer = Layer.effect(Server, skyrl({ adapters: ADAPTERS, sessionTimeout: SILENCE }));
}

const lora = { rank: 8, seed: 3, train_attn: true, train_mlp: true, train_unembed: false };
const defaults = configWith().actor;
const algorithm = configWith({ algorithm: { adv_estimator: "grpo" } }).algorithm;
/** As the server's own `ppo`: one clip on either side, no other, and a mean over sequences of means over tokens. */
const actor: TrainerOptions["actor"] = {
  ...defaults,
  entropy_coeff: 0,
  grad_clip: 0,
  clip_ratio_low: 0.2,
  clip_ratio_high: 0.2,
  clip_ratio_c: 0,
  loss_agg_mode: "seq-mean-token-mean",
};

const connected = Effect.flatMap(Server, ({ url }) => Connection.open(clientAt(url)));

const modelOf = Effect.fnUntraced(function* (connection: Connection.Connection, number = 0) {
  const { model } = yield* Server;
  const options = { baseModel: model, lora, requestTokens: 100_000 };
  return yield* Effect.acquireRelease(TinkerModel.create(connection, options, number), (model) =>
    Effect.ignore(model.unload()),
  );
});

/** Every token but each first one is trained on, as the server counts them. */
const batch: CreditedBatch = (() => {
  const credited = creditedBatch({ seed: 5, lengths: [12, 20, 9, 16], vocabulary: vocabSize });
  const mask = new Uint8Array(credited.ids.length).fill(1);
  for (const from of credited.offsets.slice(0, -1)) mask[from] = 0;
  const signs = [1, -1, 1, -1];
  const advantages = Float32Array.from(
    mask,
    (m, t) => m * (signs[credited.offsets.findLastIndex((from) => from <= t)] ?? 0),
  );
  return { ...credited, mask, advantages };
})();
const everySequence = [0, 1, 2, 3];
const sequencesOf = (values: Float32Array) =>
  everySequence.map((i) => values.slice((batch.offsets[i] ?? 0) + 1, batch.offsets[i + 1]));
const sum = (values: Float32Array) => values.reduce((a, b) => a + b, 0);
const farthest = (a: Float32Array, b: Float32Array) => a.reduce((most, v, i) => Math.max(most, Math.abs(v - b[i]!)), 0);
const run = operationRunner(new AbortController().signal, () => false);
const data = sequencesOf(Float32Array.from(batch.ids)).map((_, i) =>
  datumOf(batch.ids.slice(batch.offsets[i], batch.offsets[i + 1])),
);

const actorOver = (
  model: TinkerModel,
  settled: (id: string) => void = () => undefined,
  more: Partial<typeof actor> = {},
) =>
  Effect.promise(async () => {
    const options = { ...actor, ...more };
    const loss = await PolicyLossGradient.open(options, algorithm);
    return new TinkerActor(model, loss, run, { actor: options, reduction: "mean", onVersion: settled });
  });

const targetsAgainst = (old: Float32Array) => ({
  old,
  advantages: batch.advantages,
  importance: new Float32Array(batch.ids.length).fill(1),
  reference: undefined,
});

const generatorAt = ({ url }: SkyRL) =>
  TinkerGenerator.make({
    client: clientAt(url, { role: "generator" }),
    sessions: "newest",
    stopIds: new Set([1]),
    stops: () => null,
    vocabSize,
    maxPositions: 256,
    slots: 8,
  });

const asking = (sequence: number, pin: number | null = null) => ({
  sequence,
  append: batch.ids.slice(0, 12),
  sharedPrefix: 0,
  maxTokens: 8,
  sampling: { temperature: 1, topK: -1, topP: 1 },
  key: { seed: 1, purpose: "sampling", counters: [sequence] } as const,
  pin,
});

layer(Server.layer, { timeout: Duration.minutes(5), excludeTestServices: true })("SkyRL on the CPU", (it) => {
  it.effect("is told by its description and its first pass, in JSON, and knows no request again", () =>
    Effect.gen(function* () {
      const { url } = yield* Server;
      expect(yield* Connection.identify(url)).toBe("skyrl-jax");
      const connection = yield* connected;
      const created = yield* modelOf(connection);
      const model = yield* chooseFormat(created, "auto", data.slice(0, 1));
      expect(model.format).toBe("json");
      const [output] = yield* model.output(data.slice(0, 1));
      expect(identifySkyRL("skyrl-jax", "auto", [...output!.fields.keys()])).toBe("skyrl-jax");
      yield* model.detectResending(data.slice(0, 1));
      expect(model.canResend).toBe(false);
      const [logp = new Float32Array()] = yield* model.forward(data.slice(0, 1));
      expect(findForeignTokens(logp, vocabSize)).toBeNull();
    }).pipe(Effect.scoped),
  );

  it.effect(
    "learns: log-probabilities rise with an advantage above 0 and fall below it; the sampler has the trainer's",
    () =>
      Effect.gen(function* () {
        const model = yield* modelOf(yield* connected);
        const names: string[] = [];
        const policy = yield* actorOver(model, (name) => names.push(name));
        const before = yield* Effect.promise(() => policy.score(batch));
        const logp = new Float32Array(batch.ids.length);
        const step = yield* Effect.promise(() => policy.step(batch, everySequence, targetsAgainst(before), 2e-2, logp));
        expect(step).toMatchObject({ applied: true });
        expect(farthest(logp, before)).toBeLessThan(1e-6);
        const after = yield* Effect.promise(() => policy.score(batch));
        const moves = sequencesOf(after).map((values, i) => sum(values) - sum(sequencesOf(before)[i]!));
        expect(moves.map(Math.sign)).toEqual([1, -1, 1, -1]);
        yield* Effect.promise(() => policy.commitVersion());
        const generator = yield* generatorAt(yield* Server);
        generator.ports[0]!.postMessage({ _tag: "weights", version: 1, payload: { _tag: "remote", id: names[0]! } });
        const reply = yield* generator.generate(asking(1));
        const whole = Int32Array.from([...asking(1).append, ...reply.ids]);
        const [trained = new Float32Array()] = yield* model.forward([datumOf(whole)]);
        expect(farthest(reply.mu, trained.slice(-reply.ids.length))).toBeLessThan(1e-4);
        expect(new Set(reply.versions)).toEqual(new Set([1]));
      }).pipe(Effect.scoped),
  );

  it.effect("steps along our own gradient as along its own: the norm of its ppo, to 1e-5", () =>
    Effect.gen(function* () {
      const connection = yield* connected;
      const [theirs, ours] = [yield* modelOf(connection, 0), yield* modelOf(connection, 1)];
      const logp = yield* theirs.forward(data);
      // Far enough off for clips on both sides.
      const old = logp.map((values, i) => values.map((value, t) => value + 0.4 * Math.sin(3 * t + i)));
      const advantages = sequencesOf(batch.advantages);
      const tensors = data.map((datum, i) => ({
        ...datum,
        tensors: { ...datum.tensors, logprobs: old[i]!, advantages: advantages[i]! },
      }));
      yield* theirs.backward(tensors, "ppo", { clip_low_threshold: 0.8, clip_high_threshold: 1.2 });
      const expected = normIn(yield* theirs.step(adamParameters(actor, 0)));
      const spread = new Float32Array(batch.ids.length);
      for (const [i, values] of old.entries()) spread.set(values, (batch.offsets[i] ?? 0) + 1);
      const policy = yield* actorOver(ours);
      const into = new Float32Array(batch.ids.length);
      const { norm } = yield* Effect.promise(() => policy.step(batch, everySequence, targetsAgainst(spread), 0, into));
      expect(expected).toBeGreaterThan(0.1);
      expect(Math.abs(norm! / expected! - 1)).toBeLessThan(1e-5);
    }).pipe(Effect.scoped),
  );

  it.effect("is never asked for an older session, which would undo a step", () =>
    Effect.gen(function* () {
      const model = yield* modelOf(yield* connected);
      const generator = yield* generatorAt(yield* Server);
      const port = generator.ports[0]!;
      const policy = yield* actorOver(model, (name) => names.push(name));
      const names: string[] = [];
      const publish = (version: number) =>
        Effect.promise(async () => {
          await policy.commitVersion();
          port.postMessage({ _tag: "weights", version, payload: { _tag: "remote", id: names.at(-1)! } });
        });
      yield* publish(0);
      yield* generator.awaitVersion(0);
      const start = yield* Effect.promise(() => policy.score(batch));
      yield* Effect.promise(() =>
        policy.step(batch, everySequence, targetsAgainst(start), 2e-2, new Float32Array(batch.ids.length)),
      );
      yield* publish(1);
      yield* generator.awaitVersion(1);
      const stepped = yield* model.forward(data);
      const refused = yield* Effect.result(generator.generate(asking(7, 0)));
      expect(Result.isFailure(refused) && refused.failure.message).toMatch(/version 0 .* is not the newest \(1\)/);
      yield* generator.generate(asking(8));
      const after = yield* model.forward(data);
      expect(Math.max(...after.map((values, i) => farthest(values, stepped[i]!)))).toBeLessThan(1e-6);
      expect(Math.max(...sequencesOf(start).map((values, i) => farthest(values, stepped[i]!)))).toBeGreaterThan(0.05);
    }).pipe(Effect.scoped),
  );

  it.effect("tells the base model's log-probabilities without harm to the trainer", () =>
    Effect.gen(function* () {
      const { model: baseModel } = yield* Server;
      const connection = yield* connected;
      const model = yield* modelOf(connection);
      yield* checkReference(connection, { baseModel, lora }, batch.ids.slice(0, 20), model);
    }).pipe(Effect.scoped),
  );

  it.effect("goes on from a saved state: the same log-probabilities, and the same next step", () =>
    Effect.gen(function* () {
      const connection = yield* connected;
      const model = yield* modelOf(connection);
      const train = (one: TinkerModel) =>
        Effect.gen(function* () {
          // With a smaller one, Adam makes steps of the noise in gradients that are nearly 0.
          const policy = yield* actorOver(one, undefined, { eps: 1e-3 });
          const old = yield* Effect.promise(() => policy.score(batch));
          yield* Effect.promise(() =>
            policy.step(batch, everySequence, targetsAgainst(old), 1e-2, new Float32Array(batch.ids.length)),
          );
          return yield* one.forward(data);
        });
      const saved = yield* train(model);
      const path = yield* model.save("state-1");
      const again = yield* modelOf(connection, 1);
      yield* again.load(path);
      const loaded = yield* again.forward(data);
      expect(Math.max(...loaded.map((values, i) => farthest(values, saved[i]!)))).toBeLessThan(1e-6);
      const [one, other] = [yield* train(model), yield* train(again)];
      const apart = Math.max(...one.map((values, i) => farthest(values, other[i]!)));
      const moved = Math.max(...one.map((values, i) => farthest(values, saved[i]!)));
      // Adam's moments and count came along.
      expect(apart).toBeLessThan(1e-3 * moved);
    }).pipe(Effect.scoped),
  );

  it.effect("says what it will not do: each as the kind of failure that it is", () =>
    Effect.gen(function* () {
      const { model: baseModel, url } = yield* Server;
      const connection = yield* connected;
      const failing = <A>(effect: Effect.Effect<A, { readonly reason: string; readonly message: string }>) =>
        Effect.map(Effect.flip(effect), ({ message, reason }) => `${reason}: ${message.replace(url, "")}`);
      const options = { baseModel, lora: { ...lora, rank: 99 }, requestTokens: 1_000 };
      expect(yield* failing(TinkerModel.create(connection, options, 5))).toMatch(
        /^rejected: .*rank 99 must be between 1 and 8/,
      );
      const model = yield* modelOf(connection);
      // biome-ignore lint/suspicious/noExplicitAny: a loss that there is not
      expect(yield* failing(model.backward(data, "no_such_loss" as any))).toMatch(/^rejected: .*status 422: .*loss_fn/);
      const other = new TinkerModel("model_none", connection, { ...options, lora }, "json");
      expect(yield* failing(other.forward(data))).toMatch(/^gone: .*Model not found/);
      expect(yield* failing(other.load("tinker://nowhere/weights/none"))).toMatch(/^gone: /);
    }).pipe(Effect.scoped),
  );

  it.effect("has no place for another adapter until one is given back", () =>
    Effect.gen(function* () {
      const { model: baseModel } = yield* Server;
      const connection = yield* connected;
      const options = { baseModel, lora, requestTokens: 1_000 };
      const models = yield* Effect.forEach(Array.from({ length: ADAPTERS - 1 }), (_, number) =>
        modelOf(connection, number),
      );
      const full = yield* Effect.flip(TinkerModel.create(connection, options, ADAPTERS));
      expect(full).toMatchObject({ reason: "rejected", message: expect.stringMatching(/adapter/) });
      yield* models[0]!.unload();
      const again = yield* modelOf(connection, ADAPTERS + 1);
      expect((yield* again.forward(data)).length).toBe(data.length);
    }).pipe(Effect.scoped),
  );

  it.effect(
    "forgets the models of a session that sends no heartbeat, and keeps those of one that does",
    () =>
      Effect.gen(function* () {
        const { model: baseModel } = yield* Server;
        const kept = yield* modelOf(yield* connected);
        // A session's heartbeat ends with its scope.
        const silent = yield* Effect.scoped(
          Effect.flatMap(connected, (connection) =>
            TinkerModel.create(connection, { baseModel, lora, requestTokens: 1_000 }, 0),
          ),
        );
        expect((yield* silent.forward(data)).length).toBe(data.length);
        const lost = Effect.flip(silent.forward(data)).pipe(
          Effect.retry({ schedule: Schedule.spaced("2 seconds"), times: SILENCE }),
        );
        expect(yield* lost).toMatchObject({ reason: "gone" });
        expect((yield* kept.forward(data)).length).toBe(data.length);
      }).pipe(Effect.scoped),
    120_000,
  );

  it.effect("whose server is gone is retried, told of, and given up after the outage", () =>
    Effect.gen(function* () {
      const changes: ServerChange[] = [];
      const client = clientAt("http://127.0.0.1:9", {
        outageMs: 1_500,
        tell: (change) => changes.push(change),
        key: Redacted.make("k"),
      });
      const failure = yield* Effect.flip(Effect.scoped(Connection.open(client)));
      expect(failure).toMatchObject({ reason: "outage" });
      expect(changes.map(({ state }) => state._tag)).toContain("Retrying");
    }),
  );
});
