/**
 * A policy over a real vLLM server: ids and log-probabilities, a swap in flight, adapters as snapshots, a pause, a death. One server serves all
 * but the tests that end it.
 */
import { join } from "node:path";
import { describe, expect, it, layer } from "@effect/vitest";
import { Context, Effect, Fiber, Layer } from "effect";
import type { RunConfig } from "../../../src/config/RunConfig.ts";
import type { Tree } from "../../../src/config/Tree.ts";
import type { Sampled, Version } from "../../../src/domain/Episode.ts";
import type { ServerChange } from "../../../src/domain/Server.ts";
import { generator } from "../../../src/engine/generator.ts";
import * as Servers from "../../../src/flow/Servers.ts";
import { writeCheckpoint } from "../../../src/model/checkpoint/HuggingFaceFolder.ts";
import { parametersOf } from "../../../src/model/graphs/Parameters.ts";
import { trainedParameters } from "../../../src/model/graphs/TrainedParameters.ts";
import type * as Model from "../../../src/model/Model.ts";
import * as StartingModel from "../../../src/model/StartingModel.ts";
import type { WeightsMessage } from "../../../src/model/weights/Weights.ts";
import * as Channel from "../../../src/remote/generation/Channel.ts";
import { PROBE_TEXT, probeOf } from "../../../src/remote/generation/openServers.ts";
import { ServerHandle } from "../../../src/remote/generation/ServerHandle.ts";
import { vllm } from "../../../src/remote/generation/vllm.ts";
import { Prober } from "../../../src/remote/weights/Prober.ts";
import { replaceFolder } from "../../../src/support/files/AtomicWrite.ts";
import { configWith } from "../../build/config.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { requestOf } from "../generation/startGenerator.ts";
import { writeTinyQwen3 } from "../tinyQwen3.ts";
import { logProbabilities, worst } from "./forward.ts";
import { loraFlags, usualFlags, type VllmServer, vllmServer } from "./Server.ts";

/** A tiny model in a folder, and a server over it. */
class Shared extends Context.Service<Shared, { readonly server: VllmServer; readonly folder: string }>()(
  "test/Shared",
) {}

const served = (tied: boolean, flags: readonly string[]) =>
  Effect.gen(function* () {
    const directory = yield* temporaryFolder;
    const folder = join(directory, "model");
    yield* writeTinyQwen3(folder, { tied });
    const server = yield* vllmServer({ folder, log: join(directory, "log"), flags });
    return { server, folder };
  });

const serverConfig = (url: string, folder: string, changes: Tree = {}, lora: Tree = {}): RunConfig =>
  configWith({
    model: { path: folder, lora, generator: { engine: "vllm", urls: [url], ...changes } },
    rollout: { max_model_len: 1024, response_length: 256 },
    generation: { stop: [] },
  });

interface StartedRun {
  readonly model: Model.Model;
  /** The trained parameters of a version: those of the start, each multiplied. */
  readonly flatOf: (version: Version) => Float32Array<ArrayBuffer>;
  readonly send: (version: Version) => void;
  readonly changes: readonly ServerChange[];
}

/** @param ends true if replies end at end tokens, which a random model samples anywhere */
const start = Effect.fnUntraced(function* (config: RunConfig, ends = false) {
  const directory = yield* temporaryFolder;
  const loaded = yield* StartingModel.load(config.model.path, config.model, 1);
  const model = ends ? loaded : { ...loaded, stopIds: [] };
  const { adapter, parameters } = model.checkpoint;
  const start = Float32Array.from((adapter?.parameters ?? parameters).flat);
  // A fresh adapter adds nothing, so its zeros are moved, too.
  const flatOf = (version: Version) =>
    adapter === undefined
      ? start.map((value) => value * (1 + 0.1 * version))
      : start.map((value, i) => value + version * 0.1 * Math.sin(i));
  const changes: ServerChange[] = [];
  const board = Servers.make();
  board.onChange((change) => changes.push(change));
  const policy = yield* Effect.provideService(generator(config, model, 0, directory), Servers.Servers, board);
  const send = (version: Version): void => {
    const { buffer } = flatOf(version);
    const message: WeightsMessage = {
      _tag: "weights",
      version,
      payload: { _tag: adapter === undefined ? "full" : "adapter", buffer },
    };
    policy.ports[0]?.postMessage(message, [buffer]);
  };
  const rest: StartedRun = { model, flatOf, send, changes };
  return { policy, ...rest };
});

const forward = (run: StartedRun, version: Version, prompt: Iterable<number>, reply: Int32Array, temperature = 1) =>
  Effect.promise(() => logProbabilities(run.model, run.flatOf(version), prompt, reply, temperature));

/**
 * Largest distance of log-probabilities of the same weights from ours. One tick of a float32 logit is up to 4e-6 here, and 3e-5 was seen
 * over twelve replies of 400 tokens. Those of other weights lie more than 1e-3 away.
 */
const CLOSE = 1e-4;

/** Timeout of a test that starts a server of its own on a busy machine, milliseconds. */
const patience = 900_000;

const prompt = [300, 301, 302, 303, 304];

layer(Layer.effect(Shared, served(false, [...usualFlags, ...loraFlags])), {
  timeout: 300_000,
  excludeTestServices: true,
})("vLLM", (it) => {
  // This test is first, because it needs the starting weights as an adapter's base, and the other tests change them.
  it.effect("takes adapters as snapshots: an old one answers beside a new one, and goes when nobody holds it", () =>
    Effect.gen(function* () {
      const { folder, server } = yield* Shared;
      const run = yield* start(serverConfig(server.url, folder, {}, { rank: 8 }));
      yield* Effect.scoped(
        Effect.gen(function* () {
          const pin = yield* run.policy.hold;
          run.send(1);
          yield* run.policy.awaitVersion(1);
          const [old, fresh] = yield* Effect.all(
            [
              run.policy.generate(requestOf(1, prompt, { maxTokens: 24, pin })),
              run.policy.generate(requestOf(2, prompt, { maxTokens: 24 })),
            ],
            { concurrency: "unbounded" },
          );
          expect([new Set(old.versions), new Set(fresh.versions)]).toEqual([new Set([0]), new Set([1])]);
          expect(worst(old.mu, yield* forward(run, 0, prompt, old.ids))).toBeLessThan(CLOSE);
          expect(worst(fresh.mu, yield* forward(run, 1, prompt, fresh.ids))).toBeLessThan(CLOSE);
          expect(worst(fresh.mu, yield* forward(run, 0, prompt, fresh.ids))).toBeGreaterThan(1e-3);
        }),
      );
      run.send(2);
      yield* run.policy.awaitVersion(2);
      yield* run.policy.generate(requestOf(3, prompt, { maxTokens: 4 }));
      const { data } = yield* Effect.promise(async () => (await fetch(`${server.url}/v1/models`)).json());
      const names = (data as readonly { readonly id: string }[]).map(({ id }) => id).filter((id) => id !== "m");
      expect(names.filter((name) => name.endsWith("-v0"))).toEqual([]);
    }),
  );

  it.effect("gives ids, and mu as our own forward pass has it, at temperature 1 and at others", () =>
    Effect.gen(function* () {
      const { folder, server } = yield* Shared;
      const run = yield* start(serverConfig(server.url, folder));
      for (const temperature of [1, 0.5]) {
        const sampling = { temperature, topK: -1, topP: 1 };
        const request = requestOf(10 * temperature, prompt, { maxTokens: 48, sampling });
        const { ids, mu, versions } = yield* run.policy.generate(request);
        expect([ids.length, new Set(versions)]).toEqual([48, new Set([0])]);
        expect(worst(mu, yield* forward(run, 0, prompt, ids, temperature))).toBeLessThan(CLOSE);
      }
    }),
  );

  it.effect("goes on with a sequence over turns, and cuts at end tokens and stop sequences as threads do", () =>
    Effect.gen(function* () {
      const { folder, server } = yield* Shared;
      const config = serverConfig(server.url, folder);
      const run = yield* start({ ...config, generation: { ...config.generation, stop: ["e"] } }, true);
      const first = yield* run.policy.generate(requestOf(1, prompt, { maxTokens: 200 }));
      const text = run.model.tokenizer.decode(first.ids);
      if (first.finish === "stop" && first.ids.at(-1) !== 1) {
        expect(text).toContain("e");
        expect(run.model.tokenizer.decode(first.ids.slice(0, -1))).not.toContain("e");
      }
      const second = yield* run.policy.generate(requestOf(1, [310, 311], { maxTokens: 16 }));
      const history = [...prompt, ...first.ids, 310, 311];
      expect(worst(second.mu, yield* forward(run, 0, history, second.ids))).toBeLessThan(CLOSE);
    }),
  );

  it.effect("swaps weights in flight: a reply says at which token, and what follows is of the new ones", () =>
    Effect.gen(function* () {
      const { folder, server } = yield* Shared;
      const run = yield* start(serverConfig(server.url, folder));
      let adopted = false;
      /** One long reply after another, until the new weights are there, so that some reply is being sampled when they come. */
      const talking = Effect.fnUntraced(function* (from: number) {
        const replies: Sampled[] = [];
        for (let sequence = from; !adopted; sequence += 2)
          replies.push(yield* run.policy.generate(requestOf(sequence, prompt, { maxTokens: 900 })));
        return replies;
      });
      const both = Effect.all([talking(1), talking(2)], { concurrency: "unbounded" });
      const long = yield* Effect.forkChild(both, { startImmediately: true });
      yield* Effect.sleep(300);
      run.send(1);
      yield* run.policy.awaitVersion(1);
      adopted = true;
      const replies = (yield* Fiber.join(long)).flat();
      const spanning = replies.find(({ versions }) => versions.includes(0) && versions.includes(1));
      if (spanning === undefined) throw new Error(`none of ${replies.length} replies has tokens of both versions`);
      const { ids, mu, versions } = spanning;
      const split = versions.indexOf(1);
      expect(split).toBeGreaterThan(0);
      expect(Array.from(versions)).toEqual(Array.from(ids, (_, i) => (i < split ? 0 : 1)));
      expect(worst(mu.subarray(0, split), (yield* forward(run, 0, prompt, ids)).subarray(0, split))).toBeLessThan(
        CLOSE,
      );
      const fresh = yield* run.policy.generate(requestOf(0, prompt, { maxTokens: 32 }));
      expect(new Set(fresh.versions)).toEqual(new Set([1]));
      expect(worst(fresh.mu, yield* forward(run, 1, prompt, fresh.ids))).toBeLessThan(CLOSE);
    }),
  );

  it.effect("keeps a version while it is held: the swap waits", () =>
    Effect.gen(function* () {
      const { folder, server } = yield* Shared;
      const run = yield* start(serverConfig(server.url, folder));
      yield* Effect.scoped(
        Effect.gen(function* () {
          const pin = yield* run.policy.hold;
          run.send(1);
          yield* Effect.sleep(500);
          const { ids, mu, versions } = yield* run.policy.generate(requestOf(1, prompt, { maxTokens: 16, pin }));
          expect(new Set(versions)).toEqual(new Set([0]));
          expect(worst(mu, yield* forward(run, 0, prompt, ids))).toBeLessThan(CLOSE);
        }),
      );
      yield* run.policy.awaitVersion(1);
    }),
  );

  it.effect("finishes a request after a pause", () =>
    Effect.gen(function* () {
      const { folder, server } = yield* Shared;
      const run = yield* start(serverConfig(server.url, folder));
      const post = (path: string) => Effect.promise(() => fetch(`${server.url}${path}`, { method: "POST" }));
      yield* post("/pause?mode=keep");
      const waiting = yield* Effect.forkChild(run.policy.generate(requestOf(1, prompt)), { startImmediately: true });
      yield* Effect.sleep(300);
      expect(waiting.pollUnsafe()).toBeUndefined();
      yield* post("/resume");
      expect((yield* Fiber.join(waiting)).ids).toHaveLength(8);
    }),
  );

  it.effect("refuses a server of another model, before the run", () =>
    Effect.gen(function* () {
      const { server } = yield* Shared;
      const directory = yield* temporaryFolder;
      const other = join(directory, "other");
      yield* writeTinyQwen3(other, { rows: 700 });
      const { message } = yield* Effect.flip(start(serverConfig(server.url, other)));
      expect(message).toMatch(/it serves another model: it does not take id 699 of a vocabulary of 700/);
    }),
  );
});

describe("vLLM that ends", () => {
  it.live(
    "leaves what it had to the others, takes part again once it is back, and fails the policy where none is left",
    () =>
      Effect.gen(function* () {
        const [first, second] = yield* Effect.all([served(false, usualFlags), served(false, usualFlags)], {
          concurrency: "unbounded",
        });
        const config = serverConfig(first.server.url, first.folder, {
          urls: [first.server.url, second.server.url],
          down_deadline_ms: 2_000,
        });
        const run = yield* start(config);
        let sequences = 0;
        const askAll = Effect.suspend(() => {
          const requests = Array.from({ length: 8 }, () => requestOf(sequences++, prompt, { maxTokens: 400 }));
          return Effect.forEach(requests, (request) => run.policy.generate(request), { concurrency: "unbounded" });
        });
        const states = () => run.changes.flatMap(({ name, state }) => (name === first.server.url ? [state._tag] : []));
        /** One round after another, so that some reply is being sampled there when it is killed. */
        const rounds = Effect.gen(function* () {
          const replies: Sampled[] = [];
          while (!states().includes("Retrying")) replies.push(...(yield* askAll));
          return replies;
        });
        const talking = yield* Effect.forkChild(rounds, { startImmediately: true });
        yield* Effect.sleep(1_000);
        yield* Effect.promise(first.server.kill);
        for (const { ids, mu } of yield* Fiber.join(talking)) {
          expect(ids).toHaveLength(400);
          expect(worst(mu, yield* forward(run, 0, prompt, ids))).toBeLessThan(CLOSE);
        }

        run.send(1);
        yield* run.policy.awaitVersion(1);
        const { port } = first.server;
        const log = join(first.folder, "..", "log");
        const again = yield* vllmServer({ folder: first.folder, log, flags: usualFlags, port });
        yield* Effect.sleep(100).pipe(Effect.repeat({ until: () => states().at(-1) === "Up" }));
        yield* Effect.promise(second.server.kill);
        for (const { ids, mu, versions } of yield* askAll) {
          expect(new Set(versions)).toEqual(new Set([1]));
          expect(worst(mu, yield* forward(run, 1, prompt, ids))).toBeLessThan(CLOSE);
        }

        const waiting = yield* Effect.forkChild(Effect.flip(Effect.forever(askAll)), { startImmediately: true });
        yield* Effect.sleep(300);
        yield* Effect.promise(again.kill);
        const { message } = yield* Fiber.join(waiting);
        expect(message).toContain("no generation server has answered for 2 s");
      }),
    patience,
  );

  it.live(
    "takes our folders whole where it was started with a tied model, and is found out over a tied one",
    () =>
      Effect.gen(function* () {
        const { folder, server } = yield* served(true, usualFlags);
        const run = yield* start(serverConfig(server.url, folder));
        run.send(1);
        yield* run.policy.awaitVersion(1);
        const fresh = yield* run.policy.generate(requestOf(1, prompt, { maxTokens: 32 }));
        expect(worst(fresh.mu, yield* forward(run, 1, prompt, fresh.ids))).toBeLessThan(CLOSE);

        const { checkpoint, tokenizer } = run.model;
        const { config } = checkpoint;
        const probe = probeOf(tokenizer.encode(PROBE_TEXT));
        const prober = yield* Effect.promise(() => Prober.open(config, undefined, probe));
        const published = Effect.fnUntraced(function* (version: Version, directory: string) {
          const parameters = parametersOf(trainedParameters(config), run.flatOf(version));
          yield* replaceFolder(directory, (partial) => writeCheckpoint(partial, { ...checkpoint, parameters }));
          const scores = yield* Effect.promise(() => prober.scores(run.flatOf(version)));
          return { version, kind: "full", folder: directory, scores } as const;
        });
        const ids = tokenizer.encode(PROBE_TEXT);
        const { vocabSize } = config;
        const requirements = {
          model: "",
          vocabSize,
          positions: 512,
          kind: "full",
          rank: 0,
          text: PROBE_TEXT,
          ids,
          probe,
        } as const;
        const channel = Channel.make({ url: server.url, key: null, timeoutMs: 60_000 });
        const member = new ServerHandle({
          dialect: vllm,
          channel,
          requirements,
          run: "tied",
          tolerance: 0.05,
          concurrency: 0,
        });
        const directory = yield* temporaryFolder;
        // The server was given the matrix of version 1 last, and keeps it.
        yield* member.join([yield* published(1, join(directory, "v1"))]);
        const { message, reason } = yield* Effect.flip(member.adopt(yield* published(3, join(directory, "v3"))));
        expect([reason, message]).toEqual(["unfit", expect.stringContaining("tie_word_embeddings")]);
      }),
    patience,
  );
});
