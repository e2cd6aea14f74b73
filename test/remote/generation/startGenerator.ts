/** A policy over fake servers: a tiny random model with versions that the test makes, a publisher for them, and the policy's reports. */
import { expect } from "@effect/vitest";
import { Effect, type Scope } from "effect";
import type { RunConfig } from "../../../src/config/RunConfig.ts";
import type { Tree } from "../../../src/config/Tree.ts";
import type { Version } from "../../../src/domain/Episode.ts";
import { BadInput } from "../../../src/domain/Errors.ts";
import { stream } from "../../../src/domain/Random.ts";
import type { ServerChange } from "../../../src/domain/Server.ts";
import { generator } from "../../../src/engine/generator.ts";
import * as Servers from "../../../src/flow/Servers.ts";
import type { Generator } from "../../../src/generation/Generator.ts";
import type { GenerateRequest } from "../../../src/generation/Policy.ts";
import * as Model from "../../../src/model/Model.ts";
import { fullPayload, type WeightsMessage } from "../../../src/model/weights/Weights.ts";
import { PROBE_TEXT, probeOf } from "../../../src/remote/generation/openServers.ts";
import { Prober } from "../../../src/remote/weights/Prober.ts";
import { configWith } from "../../build/config.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import type { FakeOptions, FakeServer } from "./fakeServer.ts";
import { fakeSglang, type SglangOptions } from "./fakeSglang.ts";
import { fakeVllm, type VllmOptions } from "./fakeVllm.ts";

const sizes = { hidden_size: 16, intermediate_size: 16, layers: 1, heads: 2, kv_heads: 1, max_positions: 512 };
export const model = Effect.runSync(
  Model.randomModel(sizes, stream({ seed: 1, purpose: "initialisation", counters: [] })),
);
export const { vocabSize } = model.checkpoint.config;

/** The weights of a version. */
const flatOf = (version: Version): Float32Array<ArrayBuffer> =>
  Float32Array.from(model.checkpoint.parameters.flat, (value) => value * (1 + 0.5 * version));

/** Scores behind the prefixes of the probe under versions 0 to 8, as a server with the same model has them. */
export const probe = probeOf(model.tokenizer.encode(PROBE_TEXT));
export const truth: readonly Float32Array[] = await (async () => {
  await using prober = await Prober.open(model.checkpoint.config, undefined, probe);
  const all: Float32Array[] = [];
  for (let version = 0; version < 9; version++) all.push(await prober.scores(flatOf(version)));
  return all;
})();

/** Scores of the server behind a prefix: our own. */
export const scoresOf = (label: string, length: number): Float32Array => {
  const row = probe.lengths.indexOf(length);
  return (truth[versionOf(label)] ?? new Float32Array(0)).subarray(row * vocabSize, (row + 1) * vocabSize);
};

/** The version that a label names; the weights of the start are version 0. */
export const versionOf = (label: string): Version => Number(/-v(\d+)$/.exec(label)?.[1] ?? 0);

/** A run over these servers, with changes of `model.generator`. */
export const serversConfig = (urls: readonly string[], changes: Tree = {}): RunConfig =>
  configWith({
    model: { generator: { engine: "vllm", urls: [...urls], ...changes } },
    rollout: { max_model_len: 256, response_length: 64 },
    generation: { stop: ["</answer>"] },
  });

export interface StartedGenerator {
  readonly generator: Generator;
  readonly changes: readonly ServerChange[];
  readonly send: (version: Version) => void;
}

/** The policy over these servers. */
export const startGenerator = Effect.fnUntraced(function* (config: RunConfig, version: Version = 0) {
  const folder = yield* temporaryFolder;
  const changes: ServerChange[] = [];
  const board = Servers.make();
  board.onChange((change) => changes.push(change));
  const policy = yield* Effect.provideService(generator(config, model, version, folder), Servers.Servers, board);
  const send = (newer: Version): void => {
    const payload = fullPayload(flatOf(newer));
    const message: WeightsMessage = { _tag: "weights", version: newer, payload };
    policy.ports[0]?.postMessage(message, [payload.buffer]);
  };
  const result: StartedGenerator = { generator: policy, changes, send };
  return result;
});

export const requestOf = (
  sequence: number,
  append: readonly number[],
  changes: Partial<GenerateRequest> = {},
): GenerateRequest => ({
  sequence,
  append: Int32Array.from(append),
  sharedPrefix: 0,
  maxTokens: 8,
  sampling: { temperature: 1, topK: -1, topP: 1 },
  key: { seed: 1, purpose: "sampling", counters: [sequence] },
  pin: null,
  ...changes,
});

/** A server of the model. */
const ours = { vocabSize, score: scoresOf, tokenize: (text: string) => Array.from(model.tokenizer.encode(text)) };

export const fake = (options: Partial<VllmOptions> = {}): Effect.Effect<FakeServer, never, Scope.Scope> =>
  fakeVllm({ ...ours, ...options });

export const sglangFake = (options: Partial<SglangOptions> = {}): Effect.Effect<FakeServer, never, Scope.Scope> =>
  fakeSglang({ ...ours, ...options });

export const engines = ["vllm", "sglang"] as const;

/** A server of either engine, scripted alike. */
export const fakeOf = (
  engine: (typeof engines)[number],
  options: Partial<FakeOptions> = {},
): Effect.Effect<FakeServer, never, Scope.Scope> => (engine === "vllm" ? fake(options) : sglangFake(options));

/** Expects that a run refuses a server before it begins, with a message that names the server. */
export const expectRefused = Effect.fnUntraced(function* (server: FakeServer, config: RunConfig, message: RegExp) {
  const error = yield* Effect.flip(startGenerator(config));
  expect(error).toBeInstanceOf(BadInput);
  expect(error.message).toMatch(message);
  expect(error.message).toContain(`model.generator: ${server.url}: `);
});
