import { existsSync } from "node:fs";
import { join } from "node:path";
import type { MessagePort } from "node:worker_threads";
import { describe, it } from "@effect/vitest";
import { Effect, Fiber, Scope } from "effect";
import { expect } from "vitest";
import { stream } from "../../../src/domain/Random.ts";
import { readCheckpoint } from "../../../src/model/checkpoint/HuggingFaceFolder.ts";
import { EMBEDDING, OUTPUT } from "../../../src/model/graphs/Architecture.ts";
import { tensorOf } from "../../../src/model/graphs/Parameters.ts";
import * as Model from "../../../src/model/Model.ts";
import type { AdoptedMessage, WeightsMessage } from "../../../src/model/weights/Weights.ts";
import * as Publisher from "../../../src/remote/weights/Publisher.ts";
import type { ModelLayout } from "../../../src/remote/weights/VersionFolder.ts";
import * as Manifest from "../../../src/support/files/Manifest.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";

const sizes = { hidden_size: 8, intermediate_size: 8, layers: 1, heads: 1, kv_heads: 1, max_positions: 64 };
const small = Model.randomModel(sizes, stream({ seed: 1, purpose: "initialisation", counters: [] }));

const opened = Effect.fnUntraced(function* (layout: ModelLayout, newest = 2) {
  const directory = yield* temporaryFolder;
  const model = yield* small;
  const publisher = yield* Publisher.make({ directory, layout, model, newest, version: 3 });
  const count = model.checkpoint.parameters.flat.length;
  return { directory, model, publisher, count };
});

const send = (port: MessagePort, version: number, count: number) => {
  const buffer = new Float32Array(count).fill(version).buffer;
  const message: WeightsMessage = { _tag: "weights", version, payload: { _tag: "full", buffer } };
  port.postMessage(message, [buffer]);
};

const acknowledged = (port: MessagePort) =>
  Effect.callback<AdoptedMessage>((resume) => {
    port.once("message", (message: AdoptedMessage) => resume(Effect.succeed(message)));
  });

describe("weights as folders", () => {
  it.live("the starting version is there at once and proves itself", () =>
    Effect.gen(function* () {
      const { model, publisher } = yield* opened("as_trained");
      const { folder, kind, version } = publisher.current();
      expect([kind, version]).toEqual(["full", 3]);
      yield* Manifest.verify(folder);
      expect((yield* readCheckpoint(folder)).parameters.flat).toEqual(model.checkpoint.parameters.flat);
    }),
  );

  it.live("a version that the learner sends is acknowledged once it is on disk", () =>
    Effect.gen(function* () {
      const { count, publisher } = yield* opened("as_trained");
      const waiting = yield* Effect.forkChild(publisher.awaitNewer(3), { startImmediately: true });
      send(publisher.port, 4, count);
      expect(yield* acknowledged(publisher.port)).toEqual({ _tag: "adopted", version: 4 });
      const { folder, version } = yield* Fiber.join(waiting);
      expect(version).toBe(4);
      expect((yield* readCheckpoint(folder)).parameters.flat.every((value) => value === 4)).toBe(true);
    }),
  );

  it.live("an untied folder has the embedding as its output matrix, and says so", () =>
    Effect.gen(function* () {
      const { model, publisher } = yield* opened("untied");
      expect(model.checkpoint.config.tieEmbedding).toBe(true);
      const { config, parameters } = yield* readCheckpoint(publisher.current().folder);
      expect(config.tieEmbedding).toBe(false);
      expect(tensorOf(parameters, OUTPUT)).toEqual(tensorOf(model.checkpoint.parameters, EMBEDDING));
    }),
  );

  it.live("older versions go, but for the one that a reader keeps", () =>
    Effect.gen(function* () {
      const { count, directory, publisher } = yield* opened("as_trained", 1);
      const reader = yield* Scope.make();
      expect(yield* Scope.provide(publisher.retain(3), reader)).toBe(true);
      // A removal comes before the version after it.
      for (const version of [4, 5, 6]) {
        send(publisher.port, version, count);
        yield* acknowledged(publisher.port);
        yield* publisher.awaitNewer(version - 1);
      }
      expect([3, 4, 6].map((version) => existsSync(join(directory, `v${version}`)))).toEqual([true, false, true]);
      expect(yield* Effect.scoped(publisher.retain(4))).toBe(false);
    }),
  );

  it.live("a folder that cannot be written fails whoever waits", () =>
    Effect.gen(function* () {
      const { count, publisher } = yield* opened("as_trained");
      const waiting = yield* Effect.forkChild(Effect.flip(publisher.awaitNewer(3)), { startImmediately: true });
      send(publisher.port, 4, count - 1);
      const { message, reason } = yield* Fiber.join(waiting);
      expect(reason).toBe("session_failed");
      expect(message).toMatch(/^the weights cannot be written for the servers: /);
    }),
  );
});
