import { describe, it } from "@effect/vitest";
import { Effect, Fiber } from "effect";
import { expect } from "vitest";
import { idleGenerator } from "../../bench/nullModel.ts";
import type { Sampled } from "../../src/domain/Episode.ts";
import type { LoggedReplies } from "../../src/domain/LoggedReplies.ts";
import { loggedPolicy } from "../../src/generation/LoggedPolicy.ts";
import { type GenerateRequest, Policy } from "../../src/generation/Policy.ts";
import type { ReplyRecord } from "../../src/observe/record/replies/ReplyRecord.ts";
import { WindowReplies } from "../../src/observe/record/replies/WindowReplies.ts";
import { requestOf } from "./support.ts";

/** The reply of the policy below to turn n is the id 10 n. */
const replyOf = ({ key }: GenerateRequest): Sampled => ({
  ids: Int32Array.of(10 * key.counters[1]!),
  mu: Float32Array.of(-1),
  versions: Int32Array.of(0),
  entropies: Float32Array.of(1),
  finish: "stop",
});

const turn = (number: number, more: Partial<GenerateRequest> = {}): GenerateRequest =>
  requestOf(5, Int32Array.of(number, number), {
    key: { seed: 3, purpose: "sampling", counters: [5, number] },
    sharedPrefix: number === 1 ? 1 : 0,
    ...more,
  });

/** A policy that records what it is asked, and a log of it that holds `records`. */
const logOver = (
  records: ReplyRecord[],
  generate: (request: GenerateRequest) => Effect.Effect<Sampled> = (request) => Effect.sync(() => replyOf(request)),
) => {
  const requests: GenerateRequest[] = [];
  const released: number[] = [];
  const below = Policy.of({
    generate: (request) =>
      Effect.suspend(() => {
        requests.push(request);
        return generate(request);
      }),
    release: (sequence) => Effect.sync(() => void released.push(sequence)),
    version: Effect.succeed(0),
    awaitVersion: () => Effect.void,
    hold: Effect.succeed(0),
    gauges: Effect.succeed({ ...idleGenerator, version: 0, slots: 8 }),
  });
  const windowReplies = new WindowReplies(records);
  const replies: LoggedReplies = {
    find: (key, request) => windowReplies.find(key, request),
    add: (key, request, sampled) => void records.push({ key, request, sampled }),
  };
  return { policy: loggedPolicy(below, replies), requests, released, records, windowReplies };
};

const play = (policy: typeof Policy.Service, requests: readonly GenerateRequest[]) =>
  Effect.forEach(requests, (request) => policy.generate(request));

/** Records that a run of two turns logs. */
const twoTurns = Effect.map(
  Effect.suspend(() => {
    const log = logOver([]);
    return Effect.as(play(log.policy, [turn(1), turn(2)]), log);
  }),
  ({ records }) => records,
);

describe("a policy over logged replies", () => {
  it.effect("gives the replies that the log holds, and asks for none of them", () =>
    Effect.gen(function* () {
      const { policy, released, requests } = logOver(yield* twoTurns);
      expect(yield* play(policy, [turn(1), turn(2)])).toEqual([replyOf(turn(1)), replyOf(turn(2))]);
      yield* policy.release(5);
      expect([requests, released]).toEqual([[], []]);
    }),
  );

  it.effect("opens the sequence with its whole history for the first reply that the log lacks", () =>
    Effect.gen(function* () {
      const { policy, released, requests } = logOver(yield* twoTurns);
      yield* play(policy, [turn(1), turn(2), turn(3), turn(4)]);
      const opening = {
        append: Int32Array.of(1, 1, 10, 2, 2, 20, 3, 3),
        sharedPrefix: 1,
        replies: [
          { start: 2, end: 3 },
          { start: 5, end: 6 },
        ],
      };
      expect(requests).toEqual([{ ...turn(3), ...opening }, turn(4)]);
      yield* policy.release(5);
      expect(released).toEqual([5]);
    }),
  );

  it.effect("counts a request that differs from the logged one, and generates from there on", () =>
    Effect.gen(function* () {
      const { windowReplies, policy, requests } = logOver(yield* twoTurns);
      yield* play(policy, [turn(1, { append: Int32Array.of(7) }), turn(2)]);
      expect(requests).toHaveLength(2);
      expect(windowReplies).toMatchObject({ given: 0, differing: 1 });
    }),
  );

  for (const [name, change] of [
    ["the pinned version", { pin: 1 }],
    ["the most tokens", { maxTokens: 3 }],
    ["the sampling", { sampling: { temperature: 0.5, topK: -1, topP: 1 } }],
    ["the stop texts", { stop: ["end"] }],
  ] as const)
    it.effect(`tells requests apart by ${name}`, () =>
      Effect.gen(function* () {
        const { policy, requests } = logOver(yield* twoTurns);
        yield* policy.generate(turn(1, change));
        expect(requests).toHaveLength(1);
      }),
    );

  it.effect("leaves nothing of an interrupted request in the history", () =>
    Effect.gen(function* () {
      let hangs = true;
      const { policy, requests } = logOver(yield* twoTurns, (request) =>
        hangs ? Effect.never : Effect.sync(() => replyOf(request)),
      );
      yield* play(policy, [turn(1), turn(2)]);
      const hanging = yield* Effect.forkChild(policy.generate(turn(3)), { startImmediately: true });
      yield* Fiber.interrupt(hanging);
      hangs = false;
      yield* policy.generate(turn(3));
      expect(requests[1]).toEqual(requests[0]);
    }),
  );

  it.effect("begins a history anew behind a release", () =>
    Effect.gen(function* () {
      const { policy, requests } = logOver(yield* twoTurns);
      yield* play(policy, [turn(1)]);
      yield* policy.release(5);
      yield* play(policy, [turn(1), turn(2), turn(3)]);
      expect(requests.map(({ append }) => append.length)).toEqual([8]);
    }),
  );
});
