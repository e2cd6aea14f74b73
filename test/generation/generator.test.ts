import { describe, expect, it } from "@effect/vitest";
import { Deferred, Effect, Exit, Fiber, Queue } from "effect";
import type { Version } from "../../src/domain/Episode.ts";
import { type Generator, type GeneratorOptions, make } from "../../src/generation/Generator.ts";
import { liveThreads } from "../../src/model/runtime/Thread.ts";
import { type AdoptedMessage, fullPayload, type WeightsMessage } from "../../src/model/weights/Weights.ts";
import { idsOf, loopOn, reply, requestOf, tiny, weightsOf, withModel } from "./support.ts";

const options: GeneratorOptions = {
  config: tiny,
  version: 0,
  parameters: weightsOf(0).flat,
  threads: 2,
  generation: { slots: 4, stop: [], kv_on_update: "keep", prefill_tokens: 256 },
  stopIds: [],
  bytesOf: () => new Uint8Array(),
};

const send = (generator: Generator, version: Version, thread?: number): void => {
  generator.ports.forEach((port, index) => {
    if (thread !== undefined && index !== thread) return;
    const payload = fullPayload(weightsOf(version).flat);
    const message: WeightsMessage = { _tag: "weights", version, payload };
    port.postMessage(message, [payload.buffer]);
  });
};

const forever = { maxTokens: 480 };

describe("Generator", () => {
  it.effect("samples over threads what one loop samples", () =>
    Effect.gen(function* () {
      const generator = yield* make(options);
      const prompts = Array.from({ length: 6 }, (_, id) => requestOf(id, idsOf(12 + id, id)));
      const sampled = yield* Effect.forEach(prompts, (request) => generator.generate(request), {
        concurrency: "unbounded",
      });
      const expected = yield* Effect.promise(() =>
        withModel((model) => {
          const loop = loopOn(model);
          return Promise.all(prompts.map((request) => reply(loop, request)));
        }),
      );
      expect(sampled).toEqual(expected);
      expect(yield* generator.gauges).toMatchObject({ slots: 8, idle: 6, active: 0, sampledTokens: 72, version: 0 });
      yield* Effect.forEach(prompts, ({ sequence }) => generator.release(sequence));
      yield* generator.release(0);
      expect(yield* generator.gauges).toMatchObject({ idle: 0, active: 0 });
    }),
  );

  it.effect("adopts weights from its ports, acknowledges them and wakes who waits for the version", () =>
    Effect.gen(function* () {
      const generator = yield* make(options);
      const acknowledged = yield* Queue.unbounded<AdoptedMessage>();
      for (const port of generator.ports)
        port.on("message", (message: AdoptedMessage) => Queue.offerUnsafe(acknowledged, message));
      const waiting = yield* Effect.forkChild(generator.awaitVersion(1), { startImmediately: true });
      expect(yield* generator.version).toBe(0);
      send(generator, 1, 0);
      expect(yield* Queue.take(acknowledged)).toEqual({ _tag: "adopted", version: 1 });
      send(generator, 1, 1);
      yield* Fiber.join(waiting);
      expect(yield* generator.version).toBe(1);
      const { versions } = yield* generator.generate(requestOf(0, idsOf(5)));
      expect(new Set(versions)).toEqual(new Set([1]));
    }),
  );

  it.effect("holds the newest version common to all threads for a scope, however many come after it", () =>
    Effect.gen(function* () {
      const generator = yield* make(options);
      yield* Effect.scoped(
        Effect.gen(function* () {
          const pinned = yield* generator.hold;
          for (const version of [1, 2, 3]) {
            send(generator, version);
            yield* generator.awaitVersion(version);
          }
          const { versions } = yield* generator.generate(requestOf(0, idsOf(5), { pin: pinned }));
          expect(new Set(versions)).toEqual(new Set([0]));
          yield* generator.release(0);
        }),
      );
      for (const version of [4, 5]) {
        send(generator, version);
        yield* generator.awaitVersion(version);
      }
      const late = yield* Effect.flip(generator.generate(requestOf(1, idsOf(5), { pin: 0 })));
      expect(late.reason).toBe("bad_request");
    }),
  );

  it.effect("cancels in the thread when the caller is interrupted", () =>
    Effect.gen(function* () {
      const generator = yield* make({ ...options, threads: 1, generation: { ...options.generation, slots: 1 } });
      const endless = yield* Effect.forkChild(generator.generate(requestOf(0, idsOf(4), forever)), {
        startImmediately: true,
      });
      yield* Fiber.interrupt(endless);
      yield* generator.release(0);
      const next = yield* generator.generate(requestOf(1, idsOf(4)));
      expect(next.ids).toHaveLength(12);
      expect((yield* generator.gauges).sampledTokens).toBeLessThan(480);
    }),
  );

  it.effect("fails every waiting and every later request when a thread dies", () =>
    Effect.gen(function* () {
      const generator = yield* make({ ...options, threads: 1 });
      const waiting = yield* Effect.forEach([0, 1, 2], (id) =>
        Effect.forkChild(Effect.exit(generator.generate(requestOf(id, idsOf(4), forever))), { startImmediately: true }),
      );
      const version = yield* Effect.forkChild(Effect.flip(generator.awaitVersion(9)), { startImmediately: true });
      // A buffer of the wrong size is a fault of the program, which ends the thread.
      generator.ports[0]!.postMessage({
        _tag: "weights",
        version: 1,
        payload: { _tag: "full", buffer: new ArrayBuffer(4) },
      } satisfies WeightsMessage);
      const death = yield* Effect.flip(generator.died);
      expect(death.reason).toBe("thread_died");
      expect(death).toHaveProperty("cause.name", "RangeError");
      expect(death).toHaveProperty("cause.stack", expect.stringContaining("GeneratorLoop.offer"));
      for (const fiber of waiting) expect(Exit.isFailure(yield* Fiber.join(fiber))).toBe(true);
      expect((yield* Fiber.join(version)).reason).toBe("thread_died");
      const later = yield* Effect.flip(generator.generate(requestOf(9, idsOf(4))));
      expect(later).toMatchObject({ reason: "thread_died", message: expect.stringContaining("generator-0") });
      expect((yield* Effect.flip(generator.version)).reason).toBe("thread_died");
      yield* generator.release(0);
    }),
  );

  it.effect("ends its threads with its scope", () =>
    Effect.gen(function* () {
      const before = liveThreads();
      const ended = yield* Deferred.make<void>();
      yield* Effect.scoped(
        Effect.gen(function* () {
          const generator = yield* make(options);
          expect(liveThreads()).toBe(before + 2);
          yield* Effect.forkChild(Effect.ensuring(Effect.ignore(generator.died), Deferred.succeed(ended, undefined)), {
            startImmediately: true,
          });
          yield* Effect.forkChild(Effect.ignore(generator.generate(requestOf(0, idsOf(4), forever))), {
            startImmediately: true,
          });
        }),
      );
      yield* Deferred.await(ended);
      expect(liveThreads()).toBe(before);
    }),
  );
});
