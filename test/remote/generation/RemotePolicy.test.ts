import { describe, expect, it } from "@effect/vitest";
import { Deferred, Effect, Fiber } from "effect";
import { json } from "../../httpStandIn.ts";
import type { Script } from "./fakeServer.ts";
import { generated } from "./fakeVllm.ts";
import { engines, fake, fakeOf, model, requestOf, serversConfig, startGenerator, vocabSize } from "./startGenerator.ts";

/** A script that leaves requests without an answer, and says when one came and when its connection closed. */
const silent = (
  from: number,
): { readonly script: Script; readonly whenRequested: Effect.Effect<void>; readonly left: Effect.Effect<void> } => {
  const requested = Deferred.makeUnsafe<void>();
  const left = Deferred.makeUnsafe<void>();
  const script: Script = ({ nth }, response) => {
    if (nth !== from) return undefined;
    response.on("close", () => Deferred.doneUnsafe(left, Effect.void));
    Deferred.doneUnsafe(requested, Effect.void);
    return "handled";
  };
  return { script, whenRequested: Deferred.await(requested), left: Deferred.await(left) };
};

const [stopId = -1] = model.stopIds;
const stopText = Array.from(model.tokenizer.encode("</answer>"));

describe("a policy over a vLLM server", () => {
  it.live("sends the whole history, and a reply is what was sampled, token by token", () =>
    Effect.gen(function* () {
      const seen: (readonly number[])[] = [];
      const server = yield* fake({
        script: ({ ids }) => {
          seen.push(ids);
          return { ids: [10, 11, stopId], logprobs: [-0.5, -1.5, -0.25], finish: "stop" };
        },
      });
      const { generator } = yield* startGenerator(serversConfig([server.url]));
      const first = yield* generator.generate(requestOf(1, [5, 6]));
      expect(first).toEqual({
        ids: Int32Array.of(10, 11, stopId),
        mu: Float32Array.of(-0.5, -1.5, -0.25),
        versions: Int32Array.of(0, 0, 0),
        entropies: Float32Array.of(0.5, 1.5, 0.25),
        finish: "stop",
      });
      yield* generator.generate(requestOf(1, [7, 8]));
      expect(seen).toEqual([
        [5, 6],
        [5, 6, 10, 11, stopId, 7, 8],
      ]);
      expect(yield* generator.gauges).toMatchObject({ version: 0, slots: 8, active: 0, idle: 1, sampledTokens: 6 });
      yield* generator.release(1);
      expect(yield* generator.gauges).toMatchObject({ idle: 0 });
    }),
  );

  it.live("ends a reply at the stop sequence that its bytes spell, whatever the server sampled behind it", () =>
    Effect.gen(function* () {
      const server = yield* fake({ script: () => ({ ids: [40, ...stopText, 41, 42] }) });
      const { generator } = yield* startGenerator(serversConfig([server.url]));
      const { finish, ids } = yield* generator.generate(requestOf(1, [5, 6]));
      expect([finish, Array.from(ids)]).toEqual(["stop", [40, ...stopText]]);
    }),
  );

  it.live("goes on with a reply that the server ended where no stop of ours is", () =>
    Effect.gen(function* () {
      const lengths: number[] = [];
      const server = yield* fake({
        script: ({ ids, maxTokens, nth }) => {
          lengths.push(ids.length, maxTokens);
          return nth === 0 ? { ids: [40, 41, 42], finish: "stop" } : undefined;
        },
      });
      const { generator } = yield* startGenerator(serversConfig([server.url], { request_tokens: 6 }));
      const { finish, ids } = yield* generator.generate(requestOf(1, [5, 6], { maxTokens: 10 }));
      expect(lengths).toEqual([2, 6, 5, 6, 11, 1]);
      expect([finish, ids.length]).toEqual(["length", 10]);
    }),
  );

  it.live.each(engines)(
    "gives every token the version that sampled it, also where weights came in its middle (%s)",
    (engine) =>
      Effect.gen(function* () {
        const server = yield* fakeOf(engine, {
          script: ({ label, maxTokens }) => ({
            ids: Array.from({ length: maxTokens }, () => 9),
            spans: [
              { version: label.replace(/\d+$/, "0"), start: 0, end: 3 },
              { version: label, start: 3, end: maxTokens },
            ],
          }),
        });
        const { generator, send } = yield* startGenerator(serversConfig([server.url], { engine }));
        send(1);
        yield* generator.awaitVersion(1);
        const { versions } = yield* generator.generate(requestOf(1, [5, 6]));
        expect(Array.from(versions)).toEqual([0, 0, 0, 1, 1, 1, 1, 1]);
        expect(server.adopted.map((label) => label.replace(/.*-/, ""))).toEqual(["v0", "v1"]);
      }),
  );

  it.live("lets new weights wait while a version is held", () =>
    Effect.gen(function* () {
      const server = yield* fake();
      const { generator, send } = yield* startGenerator(serversConfig([server.url]));
      const adopted = yield* Effect.scoped(
        Effect.gen(function* () {
          const pinned = yield* generator.hold;
          send(1);
          const waiting = yield* Effect.forkChild(generator.awaitVersion(1), { startImmediately: true });
          const { versions } = yield* generator.generate(requestOf(1, [5, 6], { pin: pinned }));
          expect(new Set(versions)).toEqual(new Set([0]));
          expect(yield* generator.version).toBe(0);
          return waiting;
        }),
      );
      yield* Fiber.join(adopted);
      const late = yield* Effect.flip(generator.generate(requestOf(2, [5, 6], { pin: 0 })));
      expect(late.reason).toBe("bad_request");
    }),
  );

  it.live("aborts the request of a caller that is interrupted, and the sequence is as before", () =>
    Effect.gen(function* () {
      const { whenRequested, left, script } = silent(1);
      const server = yield* fake({ script });
      const { generator } = yield* startGenerator(serversConfig([server.url]));
      yield* generator.generate(requestOf(1, [5, 6]));
      const endless = yield* Effect.forkChild(generator.generate(requestOf(1, [7])), { startImmediately: true });
      yield* whenRequested;
      yield* Fiber.interrupt(endless);
      yield* left;
      const again = yield* generator.generate(requestOf(1, [7], { maxTokens: 2 }));
      expect(Array.from(again.ids)).toEqual([11, 12].map((id) => id % vocabSize));
      expect(yield* generator.gauges).toMatchObject({ active: 0, idle: 1 });
    }),
  );

  it.live("fails the open request of a sequence that is released", () =>
    Effect.gen(function* () {
      const { whenRequested, left, script } = silent(0);
      const server = yield* fake({ script });
      const { generator } = yield* startGenerator(serversConfig([server.url]));
      const endless = yield* Effect.forkChild(Effect.flip(generator.generate(requestOf(1, [7, 8]))), {
        startImmediately: true,
      });
      yield* whenRequested;
      yield* generator.release(1);
      expect(yield* Fiber.join(endless)).toMatchObject({ reason: "bad_request" });
      yield* left;
    }),
  );

  it.live("bounds what is in flight by what the server takes", () =>
    Effect.gen(function* () {
      let most = 0;
      const server = yield* fake({
        maxNumSeqs: 3,
        script: ({ label }, response, { open }) => {
          most = Math.max(most, open());
          setImmediate(() => json(response, 200, generated({ ids: [1, stopId] }, label)));
          return "handled";
        },
      });
      const { generator } = yield* startGenerator(serversConfig([server.url]));
      const requests = Array.from({ length: 12 }, (_, id) => generator.generate(requestOf(id, [5, id + 1])));
      yield* Effect.all(requests, { concurrency: "unbounded" });
      expect(most).toBeLessThanOrEqual(3);
      expect(yield* generator.gauges).toMatchObject({ slots: 3 });
    }),
  );

  it.live("draws greedily for certain", () =>
    Effect.gen(function* () {
      const server = yield* fake({ script: () => ({ ids: [10, stopId], logprobs: [-0.5, -0.1], finish: "stop" }) });
      const { generator } = yield* startGenerator(serversConfig([server.url]));
      const greedy = { temperature: 0, topK: -1, topP: 1 };
      const { entropies, mu } = yield* generator.generate(requestOf(1, [5, 6], { sampling: greedy }));
      expect([Array.from(mu), Array.from(entropies)]).toEqual([
        [0, 0],
        [-0, -0],
      ]);
    }),
  );
});
