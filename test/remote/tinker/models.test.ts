/** The models of a run on a server: how they are created, examined and loaded before anything is trained. */
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import type { RunConfig } from "../../../src/config/RunConfig.ts";
import { merge, type Tree } from "../../../src/config/Tree.ts";
import * as Connection from "../../../src/remote/tinker/Connection.ts";
import type { TinkerCheckpoint } from "../../../src/remote/tinker/checkpoint.ts";
import { openModels } from "../../../src/remote/tinker/openModels.ts";
import { datumOf } from "../../../src/remote/tinker/wire/Data.ts";
import { configWith } from "../../build/config.ts";
import { tiny, trainerOptions } from "../../learner/model.ts";
import { type Fake, fakeTinker } from "./FakeTinker.ts";
import { clientAt } from "./remote.ts";

const configAt = (url: string, changes: Tree): RunConfig =>
  configWith(
    merge(
      {
        pipeline: { mode: "sync" },
        model: {
          path: "base",
          generator: { engine: "tinker" },
          learner: { engine: "tinker", url, server: "skyrl-train", lora: { rank: 0 } },
        },
        actor: { entropy_coeff: 0 },
      },
      changes,
    ),
  );

const saved: TinkerCheckpoint = {
  schema: 1,
  server: "http://127.0.0.1",
  base_model: "base",
  rank: 0,
  weights: "tinker://m/weights/v3",
  critic: "tinker://c/weights/v3-critic",
  version: 3,
  windows: 3,
  actorUpdates: 3,
  criticUpdates: 3,
};

const open = Effect.fnUntraced(function* (
  { url }: Fake,
  changes: Tree,
  checkpoint: TinkerCheckpoint | undefined,
  onPass: (tokens: number, forwardOnly: boolean) => void = () => undefined,
) {
  const connection = yield* Connection.open(clientAt(url));
  const start = {
    config: configAt(url, changes),
    tokenizer: new Map() as never,
    vocabSize: tiny.vocabSize,
    probe: Int32Array.of(3, 5, 7, 9, 11, 13),
    restore: null,
    ports: [],
  };
  return yield* openModels(start, checkpoint, connection, onPass);
});

const { actor, critic } = trainerOptions;

describe("a run with gae on SkyRL-Train", () => {
  it.live("has a critic beside its policy", () =>
    Effect.gen(function* () {
      const server = yield* fakeTinker({ actor, critic });
      const models = yield* open(server, {}, undefined);
      expect([models.model.id, models.critic?.id]).toEqual(["m", "c"]);
      const creations = server.requestsTo("create_model").map(({ body }) => [body.model_seq_id, body.model_role]);
      expect(creations).toEqual([
        [0, undefined],
        [2, "critic"],
      ]);
      expect(server.counts()).toEqual({ backward: 0, steps: 0 });
    }),
  );

  it.live("reports the tokens of every pass", () =>
    Effect.gen(function* () {
      const passes: (readonly [tokens: number, forwardOnly: boolean])[] = [];
      const server = yield* fakeTinker({ actor, critic });
      const { model } = yield* open(server, {}, undefined, (...pass) => void passes.push(pass));
      const before = passes.length;
      yield* model.forward([datumOf(Int32Array.of(1, 2, 3, 4))]);
      expect(before).toBeGreaterThan(0);
      expect(passes.slice(before)).toEqual([[3, true]]);
    }),
  );

  it.live("goes on with the critic that was saved", () =>
    Effect.gen(function* () {
      const server = yield* fakeTinker({ actor, critic });
      yield* open(server, {}, saved);
      const loaded = server.requestsTo("load_weights").map(({ body }) => [body.model_id, body.path]);
      expect(loaded).toEqual([
        ["m", saved.weights],
        ["c", saved.critic],
      ]);
    }),
  );

  it.live("gives both back", () =>
    Effect.gen(function* () {
      const server = yield* fakeTinker({ actor, critic });
      yield* Effect.scoped(open(server, {}, undefined));
      expect(server.requestsTo("unload_model").map(({ body }) => body.model_id)).toEqual(["c", "m"]);
    }),
  );
});

describe("a run without a critic", () => {
  it.live("asks for none", () =>
    Effect.gen(function* () {
      const server = yield* fakeTinker({ actor });
      const models = yield* open(server, { algorithm: { adv_estimator: "grpo" } }, undefined);
      expect(models.critic).toBeUndefined();
      expect(server.requestsTo("create_model").map(({ body }) => body.model_role)).toEqual([undefined]);
    }),
  );
});

describe("a run that the server cannot do", () => {
  it.live("is refused once it is seen which server it is", () =>
    Effect.gen(function* () {
      const server = yield* fakeTinker({
        actor,
        title: "Tinker API Mock",
        script: ({ body, path }, response) => {
          // SkyRL on JAX is recognised by these fields.
          if (path !== "retrieve_future" || !["f1", "f2"].includes(body.request_id)) return false;
          const logprobs = { data: [-1, -1, -1, -1, -1] };
          response.writeHead(200, { "content-type": "application/json" });
          response.end(JSON.stringify({ loss_fn_outputs: [{ logprobs, elementwise_loss: logprobs }], metrics: {} }));
          return true;
        },
      });
      const auto = { engine: "tinker", url: server.url, server: "auto", lora: { rank: 8 } };
      const error = yield* Effect.flip(
        open(server, { model: { path: "base", generator: { engine: "tinker" }, learner: auto } }, undefined),
      );
      expect(error.message).toMatch(/algorithm\.adv_estimator: gae: it needs a critic, and SkyRL \(JAX\)/);
    }),
  );
});
