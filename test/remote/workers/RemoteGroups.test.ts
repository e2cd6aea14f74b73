import { describe, it } from "@effect/vitest";
import { Effect, Fiber } from "effect";
import { TestClock } from "effect/testing";
import { expect } from "vitest";
import type { Group, Prompt } from "../../../src/domain/Group.ts";
import { toRecord } from "../../../src/domain/metrics/Metrics.ts";
import type { ServerChange } from "../../../src/domain/Server.ts";
import { Environments } from "../../../src/env/contract/Environments.ts";
import { Policy } from "../../../src/generation/Policy.ts";
import * as RemoteGroups from "../../../src/remote/workers/RemoteGroups.ts";
import * as ResultReader from "../../../src/remote/workers/reading/ResultReader.ts";
import * as Rollout from "../../../src/rollout/Rollout.ts";
import { reachConfig } from "../../build/config.ts";
import { rollout } from "../../rollout/fakes.ts";
import { FakeLearnerBroker } from "./fakes.ts";
import { groupWith, plainTurn, prompt } from "./groups.ts";

const leaseMs = 1_000;
const config = reachConfig({
  pipeline: { mode: "async", workers: { url: "nats://127.0.0.1:4222", lease_ms: leaseMs, local: false } },
});

/** Lets woken fibers run, and results be compressed on other threads. */
const settle = Effect.gen(function* () {
  // Results are read on threads of Node's, whose time is real.
  for (let i = 0; i < 20; i++) {
    yield* Effect.promise(() => new Promise<void>((resolve) => setTimeout(resolve, 3)));
    yield* TestClock.adjust(0);
  }
});

const nobody = {} as never;

const start = Effect.fnUntraced(function* () {
  const fake = new FakeLearnerBroker();
  const changes: ServerChange[] = [];
  const shutOut: (readonly string[])[] = [];
  let tickets = 0;
  const groups = yield* RemoteGroups.make({
    config,
    epoch: "now",
    broker: fake.broker,
    readResult: ResultReader.readInThisThread({ limits: config.rollout, vocabulary: 10 }),
    newestVersion: () => 4,
    drawTicket: () => `t${tickets++}`,
    tell: (change) => void changes.push(change),
    announceShutOut: (names) => Effect.sync(() => void shutOut.push(names)),
  });
  const playOf = (group: Prompt) =>
    groups
      .play(rollout(), Rollout.trainingMode(config, new Set()), group)
      .pipe(Effect.provideService(Policy, nobody), Effect.provideService(Environments, nobody));
  const play = playOf(prompt);
  const metric = (name: string): number | undefined => toRecord(groups.metrics())[`workers/${name}`];
  return { fake, groups, metric, shutOut, play, playOf, changes };
});

const isPlayed = (fiber: Fiber.Fiber<Group, unknown>) => fiber.pollUnsafe() !== undefined;
const bad = groupWith({ ...plainTurn, prompt: Int32Array.of(99) });

describe("groups that workers play", () => {
  it.effect("are offered when there is a worker, and acknowledged once they are recorded, not before", () =>
    Effect.gen(function* () {
      const { fake, groups, play } = yield* start();
      const fiber = yield* Effect.forkChild(play, { startImmediately: true });
      yield* settle;
      expect(fake.stored.size).toBe(0);
      fake.say("a");
      yield* settle;
      expect([...fake.stored.values()].map((work) => work.prompt)).toEqual([prompt]);
      yield* fake.send("a", fake.leaseOf(7), groupWith(), "first");
      yield* settle;
      const group = yield* Fiber.join(fiber);
      expect(group).toEqual(groupWith());
      expect(fake.acknowledged).toEqual([]);
      yield* groups.confirmFinished(group);
      expect(new Set(fake.acknowledged)).toEqual(new Set(["first"]));
    }).pipe(Effect.scoped),
  );

  it.effect("count once, however often their results come", () =>
    Effect.gen(function* () {
      const { fake, groups, metric, play } = yield* start();
      const fiber = yield* Effect.forkChild(play, { startImmediately: true });
      fake.say("a");
      yield* settle;
      const lease = fake.leaseOf(7);
      yield* fake.send("a", lease, groupWith(), "first");
      yield* settle;
      yield* fake.send("a", lease, groupWith(), "again");
      yield* settle;
      yield* groups.confirmFinished(yield* Fiber.join(fiber));
      yield* fake.send("a", lease, groupWith(), "late");
      yield* settle;
      expect(new Set(fake.acknowledged)).toEqual(new Set(["first", "again", "late"]));
      expect(metric("results")).toBe(1);
      expect(metric("dropped/duplicate")).toBe(2);
    }).pipe(Effect.scoped),
  );

  it.effect("are given to another when a result cannot be true, and its sender's lease is void", () =>
    Effect.gen(function* () {
      const { fake, metric, play } = yield* start();
      const fiber = yield* Effect.forkChild(play, { startImmediately: true });
      fake.say("a");
      yield* settle;
      const first = fake.leaseOf(7);
      yield* fake.send("a", first, bad, "bad");
      yield* settle;
      const second = fake.leaseOf(7);
      expect(second.ticket).not.toBe(first.ticket);
      expect(metric("dropped/refused")).toBe(1);
      yield* fake.send("a", first, groupWith(), "void");
      yield* settle;
      expect(isPlayed(fiber)).toBe(false);
      expect(metric("dropped/late")).toBe(1);
      yield* fake.send("b", second, groupWith(), "good");
      yield* settle;
      expect(yield* Fiber.join(fiber)).toEqual(groupWith());
    }).pipe(Effect.scoped),
  );

  it.effect("are refused as stale with tokens of other weights than admission asks for", () =>
    Effect.gen(function* () {
      const { fake, metric, play } = yield* start();
      yield* Effect.forkChild(play, { startImmediately: true });
      fake.say("a");
      yield* settle;
      const old = { ...plainTurn, sampled: { ...plainTurn.sampled, versions: Int32Array.of(2, 3) } };
      yield* fake.send("a", fake.leaseOf(7), groupWith(old), "old");
      yield* settle;
      expect(metric("dropped/stale")).toBe(1);
    }).pipe(Effect.scoped),
  );

  it.effect("go to others once a worker was refused five times in a row: it is shut out, and told so by name", () =>
    Effect.gen(function* () {
      const { fake, metric, shutOut, play, playOf, changes } = yield* start();
      const fiber = yield* Effect.forkChild(play, { startImmediately: true });
      const other = yield* Effect.forkChild(playOf({ ...prompt, group: 8 }), { startImmediately: true });
      fake.say("a");
      yield* settle;
      const otherLease = fake.leaseOf(8);
      fake.say("a", { leases: [otherLease] });
      for (let i = 0; i < 5; i++) {
        expect(changes.map(({ state }) => state._tag)).toEqual(["Up"]);
        yield* fake.send("a", fake.leaseOf(7), bad, `bad ${i}`);
        yield* settle;
      }
      expect(changes.at(-1)).toMatchObject({
        role: "worker",
        name: "a",
        state: {
          _tag: "ShutOut",
          why: "5 of its messages in a row were refused, the last because an id of a prompt is not in the vocabulary",
        },
      });
      expect(shutOut).toEqual([["a"]]);
      expect([metric("shut_out"), metric("joined")]).toEqual([1, 0]);
      // Its reports and results count for nothing, and its leases go to others.
      fake.say("a", { leases: [otherLease] });
      yield* settle;
      expect(metric("joined")).toBe(0);
      fake.say("b");
      yield* settle;
      expect(fake.leaseOf(8).ticket).not.toBe(otherLease.ticket);
      yield* fake.send("a", fake.leaseOf(7), groupWith(), "good, of a");
      yield* settle;
      expect(isPlayed(fiber)).toBe(false);
      yield* fake.send("b", fake.leaseOf(7), groupWith(), "good, of b");
      yield* fake.send("b", fake.leaseOf(8), groupWith(), "of b");
      yield* settle;
      expect([isPlayed(fiber), isPlayed(other)]).toEqual([true, true]);
    }).pipe(Effect.scoped),
  );

  it.effect("are given to no worker that never joined and was refused five times: it is shut out, too", () =>
    Effect.gen(function* () {
      const { fake, metric, shutOut, play } = yield* start();
      yield* Effect.forkChild(play, { startImmediately: true });
      fake.sendBytes("stranger", Uint8Array.of(1, 2, 3), "unreadable");
      fake.sayBytes("stranger", Uint8Array.of(1, 2, 3));
      for (let group = 100; group < 103; group++) {
        yield* settle;
        expect(shutOut).toEqual([]);
        yield* fake.send("stranger", { epoch: "now", group, ticket: "guessed", delivery: 1 }, groupWith(), "guess");
      }
      yield* settle;
      expect(shutOut).toEqual([["stranger"]]);
      expect(metric("shut_out")).toBe(1);
      fake.say("stranger");
      yield* settle;
      expect([metric("joined"), fake.stored.size]).toEqual([0, 0]);
    }).pipe(Effect.scoped),
  );

  it.effect("are still given to a worker whose refusals were not in a row", () =>
    Effect.gen(function* () {
      const { fake, groups, shutOut, playOf } = yield* start();
      fake.say("a");
      for (let round = 0; round < 3; round++) {
        const group = 20 + round;
        const fiber = yield* Effect.forkChild(playOf({ ...prompt, group }), { startImmediately: true });
        yield* settle;
        for (let i = 0; i < 3; i++) {
          yield* fake.send("a", fake.leaseOf(group), bad, "bad");
          yield* settle;
        }
        yield* fake.send("a", fake.leaseOf(group), groupWith(), "good");
        yield* settle;
        yield* groups.confirmFinished(yield* Fiber.join(fiber));
      }
      expect(shutOut).toEqual([]);
    }).pipe(Effect.scoped),
  );

  it.effect("are left to the broker while it has their lease, and offered anew when it does not", () =>
    Effect.gen(function* () {
      const { fake, play } = yield* start();
      yield* Effect.forkChild(play, { startImmediately: true });
      const beat = Effect.gen(function* () {
        fake.say("a");
        yield* TestClock.adjust(leaseMs);
        yield* settle;
      });
      yield* beat;
      const first = fake.leaseOf(7);
      for (let i = 0; i < 8; i++) yield* beat;
      expect(fake.leaseOf(7).ticket).toBe(first.ticket);
      // Somebody has ended the lease without a result.
      fake.stored.clear();
      for (let i = 0; i < 4; i++) yield* beat;
      expect(fake.leaseOf(7).ticket).not.toBe(first.ticket);
    }).pipe(Effect.scoped),
  );

  it.effect("come back when the last worker falls silent, by the learner's clock", () =>
    Effect.gen(function* () {
      const { fake, metric, play, changes } = yield* start();
      yield* Effect.forkChild(play, { startImmediately: true });
      fake.say("a");
      yield* settle;
      expect(metric("joined")).toBe(1);
      yield* TestClock.adjust(3 * leaseMs);
      yield* settle;
      expect(metric("joined")).toBe(0);
      expect(fake.stored.size).toBe(0);
      expect(changes.map(({ name, state }) => [name, state._tag])).toEqual([
        ["a", "Up"],
        ["a", "Lost"],
      ]);
      fake.say("a");
      yield* settle;
      expect(fake.stored.size).toBe(1);
    }).pipe(Effect.scoped),
  );

  it.effect("are taken back from the broker when nobody wants them any more", () =>
    Effect.gen(function* () {
      const { fake, play } = yield* start();
      const fiber = yield* Effect.forkChild(play, { startImmediately: true });
      fake.say("a");
      yield* settle;
      expect(fake.stored.size).toBe(1);
      yield* Fiber.interrupt(fiber);
      yield* settle;
      expect(fake.stored.size).toBe(0);
      expect(fake.withdrawn).toEqual([1]);
    }).pipe(Effect.scoped),
  );
});
