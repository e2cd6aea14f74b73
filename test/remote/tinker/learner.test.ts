/** Our loss on a server gives the weights that the learner of this process gives, whatever the server's reduction and format. */
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import type { CreditedBatch } from "../../../src/domain/Batch.ts";
import { learner } from "../../../src/domain/metrics/learner.ts";
import { valueIn } from "../../../src/domain/metrics/Metrics.ts";
import { Trainer } from "../../../src/learner/Trainer.ts";
import type { TrainerOptions } from "../../../src/learner/TrainerOptions.ts";
import { returnsFor } from "../../../src/remote/tinker/TinkerCritic.ts";
import { creditedBatch } from "../../build/batches.ts";
import { tiny, tinyParameters, trainerOptions } from "../../learner/model.ts";
import golden from "./critic_golden.json" with { type: "json" };
import { type FakeOptions, fakeTinker, json } from "./FakeTinker.ts";
import { trainerAt } from "./remote.ts";

const base: TrainerOptions = {
  ...trainerOptions,
  algorithm: { ...trainerOptions.algorithm, adv_estimator: "grpo" },
  actor: { ...trainerOptions.actor, entropy_coeff: 0, grad_clip: 0, lr: 1e-2 },
};
const withActor = (actor: Partial<TrainerOptions["actor"]>, algorithm: Partial<TrainerOptions["algorithm"]> = {}) => ({
  ...base,
  actor: { ...base.actor, ...actor },
  algorithm: { ...base.algorithm, ...algorithm },
});
const shape = { lengths: [20, 31, 9, 17, 24, 12], vocabulary: tiny.vocabSize };
const batchOf = (window: number): CreditedBatch => creditedBatch({ ...shape, seed: window, window });

const farthest = (a: Float32Array, b: Float32Array) => a.reduce((most, v, i) => Math.max(most, Math.abs(v - b[i]!)), 0);

/** Trains both on the same windows, and says how far they end from each other and from where they began. */
const both = Effect.fnUntraced(function* (
  options: TrainerOptions,
  fake: Partial<FakeOptions> = {},
  remote: Parameters<typeof trainerAt>[2] = {},
  windows = 3,
) {
  const server = yield* fakeTinker({ actor: options.actor, ...fake });
  const remoteTrainer = yield* trainerAt(server.url, options, { ...remote, reduction: fake.reduction ?? "sum" });
  return yield* Effect.promise(async () => {
    await using local = await Trainer.open(tiny, tinyParameters(), options);
    const seen = [];
    for (let window = 0; window < windows; window++) {
      const here = await local.update(batchOf(window));
      const there = await remoteTrainer.trainer.update(batchOf(window));
      seen.push([here, there] as const);
    }
    const flat = local.networks.actor.parameters.flat;
    const criticFlat = local.networks.critic?.parameters.flat;
    return {
      criticApart: criticFlat && farthest(criticFlat, server.critic.network.parameters.flat),
      apart: farthest(flat, server.actor.network.parameters.flat),
      moved: farthest(flat, tinyParameters().flat),
      seen,
      server,
      names: remoteTrainer.names,
    };
  });
});

const losses = ["ppo", "gspo", "geo_mean", "cispo", "gpg"] as const;

describe("several updates on a server come to the weights that they come to here", () => {
  it.live.each(losses)("with the loss %s", (policy_loss) =>
    Effect.gen(function* () {
      const bySequence = policy_loss === "gspo" || policy_loss === "geo_mean";
      const loss_agg_mode = bySequence ? "seq-mean-token-mean" : "token-mean";
      const { apart, moved } = yield* both(withActor({ policy_loss, loss_agg_mode }));
      expect(moved).toBeGreaterThan(0.02);
      expect(apart).toBeLessThan(1e-5);
    }),
  );

  it.live.each(["token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm"] as const)(
    "with %s on a server that takes means",
    (loss_agg_mode) =>
      Effect.gen(function* () {
        const { apart, moved } = yield* both(withActor({ loss_agg_mode }), { reduction: "mean" });
        expect(moved).toBeGreaterThan(0.02);
        expect(apart).toBeLessThan(1e-5);
      }),
  );

  it.live.each(["decoupled", "loglinear", "tis", "icepop", "seq_mask"] as const)(
    "with the correction %s",
    (correction) =>
      Effect.gen(function* () {
        const { apart } = yield* both(withActor({ ppo_epochs: 2 }, { correction }));
        expect(apart).toBeLessThan(1e-5);
      }),
  );

  it.live("in protobuf, and in requests of few tokens", () =>
    Effect.gen(function* () {
      const { apart, server } = yield* both(
        base,
        { formats: ["protobuf"], reduction: "mean" },
        { format: "protobuf", requestTokens: 30 },
      );
      expect(apart).toBeLessThan(1e-5);
      expect(server.requestsTo("forward")).toEqual([]);
      expect(server.counts().backward).toBeGreaterThan(server.counts().steps);
    }),
  );
});

describe("several updates of a critic on a server come to the values that they come to here", () => {
  const gae = withActor({ loss_agg_mode: "token-mean" }, { adv_estimator: "gae" });

  it.live.each(["token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm"] as const)(
    "with %s",
    (loss_agg_mode) =>
      Effect.gen(function* () {
        const options = withActor({ loss_agg_mode }, { adv_estimator: "gae" });
        const { apart, criticApart, seen } = yield* both(options, { critic: options.critic });
        expect(apart).toBeLessThan(1e-5);
        expect(criticApart).toBeLessThan(1e-5);
        for (const [here, there] of seen) {
          for (const name of [learner.vfLoss, learner.criticGradNorm, learner.vfClipFraction]) {
            expect(valueIn(there.metrics, name)).toBeCloseTo(valueIn(here.metrics, name)!, 4);
          }
        }
      }),
  );

  it("and the returns that are sent have our gradient in SkyRL's own loss", () => {
    const { gradient, returns, values, weights } = golden;
    for (const [i, gradients] of gradient.entries()) {
      const [v, g, w] = [values[i]!, gradients, weights[i]!].map((numbers) => Float32Array.from(numbers));
      const sent = returnsFor(v!, g!, w!, gradient.length);
      const trained = returns[i]!.flatMap((value, t) => (w![t] === 1 ? [[value, sent[t]!] as const] : []));
      expect(trained.length).toBeGreaterThan(1);
      for (const [expected, value] of trained) expect(value).toBeCloseTo(expected, 5);
    }
  });

  it.live("where our value clip is narrow, in two epochs", () =>
    Effect.gen(function* () {
      const critic = { ...gae.critic, lr: 1e-2, cliprange_value: 1e-3 };
      const options = { ...gae, critic, actor: { ...gae.actor, ppo_epochs: 2 } };
      const { criticApart, seen } = yield* both(options, { critic });
      expect(criticApart).toBeLessThan(1e-5);
      expect(Math.max(...seen.map(([, there]) => valueIn(there.metrics, learner.vfClipFraction) ?? 0))).toBeGreaterThan(
        0,
      );
    }),
  );

  it.live("in protobuf, and in requests of few tokens", () =>
    Effect.gen(function* () {
      const { criticApart, server } = yield* both(
        gae,
        { critic: gae.critic, formats: ["protobuf"] },
        { format: "protobuf", requestTokens: 30 },
      );
      expect(criticApart).toBeLessThan(1e-5);
      expect(server.requestsTo("forward")).toEqual([]);
    }),
  );

  it.live("without anything sent that is not finite", () =>
    Effect.gen(function* () {
      const server = yield* fakeTinker({ actor: gae.actor, critic: gae.critic });
      const { trainer } = yield* trainerAt(server.url, gae);
      const batch = batchOf(0);
      const report = yield* Effect.promise(() =>
        trainer.update({ ...batch, returns: batch.returns.fill(Number.POSITIVE_INFINITY) }),
      );
      expect(valueIn(report.metrics, learner.criticSkipped)).toBeGreaterThan(0);
      const sent = server.requestsTo("forward_backward").map(({ body }) => body.model_id);
      expect(sent).not.toContain("c");
    }),
  );
});

describe("an update on a server", () => {
  it.live("measures what the learner of this process measures, except the entropy", () =>
    Effect.gen(function* () {
      const { seen } = yield* both(base, {}, {}, 2);
      for (const [here, there] of seen) {
        const names = [...here.metrics.keys()].filter((name) => !/entropy/.test(name));
        expect([...there.metrics.keys()]).toEqual(names);
        for (const name of names) expect(there.metrics.get(name), name).toBeCloseTo(here.metrics.get(name)!, 4);
      }
    }),
  );

  it.live("makes one version, named by the server", () =>
    Effect.gen(function* () {
      const { names, seen, server } = yield* both(base, {}, {}, 2);
      expect(seen.map(([, { version }]) => version)).toEqual([1, 2]);
      expect(names).toEqual(["s0", "s1"]);
      expect(server.requestsTo("optim_step")[0]?.body.adam_params).toEqual({
        learning_rate: base.actor.lr,
        beta1: base.actor.betas[0],
        beta2: base.actor.betas[1],
        eps: base.actor.eps,
        weight_decay: base.actor.weight_decay,
        grad_clip_norm: 0,
      });
    }),
  );

  it.live("sends nothing that is not finite, and counts the step as skipped", () =>
    Effect.gen(function* () {
      const server = yield* fakeTinker({ actor: base.actor });
      const { trainer } = yield* trainerAt(server.url, base);
      const batch = batchOf(0);
      const report = yield* Effect.promise(() =>
        trainer.update({ ...batch, advantages: batch.advantages.fill(Number.NaN) }),
      );
      expect(report).toMatchObject({ applied: false, version: 0, untrained: { notFinite: "advantages" } });
      expect(valueIn(report.metrics, learner.skipped)).toBe(valueIn(report.metrics, learner.miniBatches));
      expect(server.counts()).toEqual({ backward: 0, steps: 0 });
    }),
  );

  it.live("skips a step where the server's log-probabilities are not finite", () =>
    Effect.gen(function* () {
      const lengths: number[][] = [];
      const server = yield* fakeTinker({
        actor: base.actor,
        script: ({ body, path }, response) => {
          if (path === "forward") {
            const { data } = body.forward_input;
            lengths.push(
              data.map(
                (datum: { model_input: { chunks: { tokens: number[] }[] } }) =>
                  datum.model_input.chunks[0]?.tokens.length,
              ),
            );
            return json(response, 200, { request_id: `nan-${lengths.length - 1}` });
          }
          const [, nth] = path === "retrieve_future" ? (/^nan-(\d+)$/.exec(body.request_id) ?? []) : [];
          if (nth === undefined) return false;
          const outputs = lengths[Number(nth)]?.map((length) => ({ logprobs: { data: Array(length).fill(null) } }));
          return json(response, 200, { loss_fn_outputs: outputs, metrics: {} });
        },
      });
      const { trainer } = yield* trainerAt(server.url, base);
      const report = yield* Effect.promise(() => trainer.update(batchOf(0)));
      expect(report).toMatchObject({ applied: false, version: 0, untrained: { notFinite: "log-probabilities" } });
      expect(server.counts()).toEqual({ backward: 0, steps: 0 });
    }),
  );
});
