/** The generator over a policy of the user's own: its prompts, and the versions that validations hold. */
import { describe, expect, it } from "@effect/vitest";
import { Deferred, Effect, Fiber } from "effect";
import { type CustomPolicy, make, type ReplyRequest } from "../../src/generation/CustomPolicy.ts";
import type { GenerateRequest } from "../../src/generation/Policy.ts";
import * as Model from "../../src/model/Model.ts";
import type { WeightsMessage } from "../../src/model/weights/Weights.ts";
import { configWith } from "../build/config.ts";

const nano = Model.load(new URL("../../config/models/nano", import.meta.url).pathname);

const generatorOf = Effect.fnUntraced(function* (policy: CustomPolicy) {
  return yield* make(policy, configWith({}), yield* nano, 0);
});

const requestOf = (append: readonly number[], changes: Partial<GenerateRequest> = {}): GenerateRequest => ({
  sequence: 1,
  append: Int32Array.from(append),
  sharedPrefix: 0,
  maxTokens: 4,
  sampling: { temperature: 1, topK: -1, topP: 1 },
  key: { seed: 1, purpose: "sampling", counters: [] },
  pin: null,
  ...changes,
});

/** A new version that a server keeps, whose weights nobody is given. */
const message = (version: number): WeightsMessage => ({
  _tag: "weights",
  version,
  payload: { _tag: "remote", id: "" },
});

describe("the generator over a policy of the user's own", () => {
  it.effect("shows the whole chat, and forgets it when the sequence is released", () =>
    Effect.gen(function* () {
      const requests: ReplyRequest[] = [];
      const generator = yield* generatorOf({
        generate: (request) => {
          requests.push(request);
          return { ids: [9], logProbs: [-1] };
        },
      });
      yield* generator.generate(requestOf([1, 2]));
      yield* generator.generate(requestOf([3]));
      yield* generator.release(1);
      yield* generator.generate(requestOf([4]));
      expect(requests.map(({ prompt }) => [...prompt])).toEqual([[1, 2], [1, 2, 9, 3], [4]]);
    }).pipe(Effect.scoped),
  );

  it.effect("gives equal draws for equal keys", () =>
    Effect.gen(function* () {
      const draws: number[] = [];
      const generator = yield* generatorOf({
        generate: ({ random }) => {
          draws.push(random());
          return { ids: [9], logProbs: [-1] };
        },
      });
      yield* generator.generate(requestOf([1]));
      yield* generator.generate(requestOf([1], { sequence: 2 }));
      expect(draws[0]).toBe(draws[1]);
    }).pipe(Effect.scoped),
  );

  it.live("a validation waits for the adoption under way and keeps later versions out", () =>
    Effect.gen(function* () {
      const entered = yield* Deferred.make<void>();
      const finish = yield* Deferred.make<void>();
      const adopted: number[] = [];
      const generator = yield* generatorOf({
        generate: () => ({ ids: [9], logProbs: [-1] }),
        adopt: async (version) => {
          if (version === 1) {
            await Effect.runPromise(Effect.andThen(Deferred.succeed(entered, undefined), Deferred.await(finish)));
          }
          adopted.push(version);
        },
      });
      const [port] = generator.ports;
      port?.postMessage(message(1));
      yield* Deferred.await(entered);
      const validation = yield* Effect.forkChild(
        Effect.scoped(
          Effect.gen(function* () {
            const version = yield* generator.hold;
            port?.postMessage(message(2));
            yield* Effect.promise(() => new Promise((resolve) => setImmediate(() => setImmediate(resolve))));
            return { version, during: [...adopted] };
          }),
        ),
      );
      yield* Deferred.succeed(finish, undefined);
      expect(yield* Fiber.join(validation)).toEqual({ version: 1, during: [1] });
      yield* generator.awaitVersion(2);
      expect(adopted).toEqual([1, 2]);
    }).pipe(Effect.scoped),
  );
});
