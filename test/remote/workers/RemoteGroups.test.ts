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
import * as Reader from "../../../src/remote/workers/reading/Reader.ts";
import * as Rollout from "../../../src/rollout/Rollout.ts";
import { reachConfig } from "../../build/config.ts";
import { rollout } from "../../rollout/fakes.ts";
import { FakeLearnerBroker } from "./fakes.ts";
import { groupWith, plainTurn, prompt } from "./groups.ts";

const leaseMs = 1_000;
const config = reachConfig({
  pipeline: { mode: "async", workers: { url: "nats://127.0.0.1:4222", lease_ms: leaseMs, local: false } },
});

/** What the fibers that were woken do, and what compresses on other threads. */
const settled = Effect.gen(function* () {
  // Results are read on threads of Node's, whose time is real.
  for (let i = 0; i < 20; i++) {
    yield* Effect.promise(() => new Promise<void>((resolve) => setTimeout(resolve, 3)));
    yield* TestClock.adjust(0);
  }
});

const nobody = {} as never;

const opened = Effect.fnUntraced(function* () {
  const fake = new FakeLearnerBroker();
  const told: ServerChange[] = [];
  const outside: (readonly string[])[] = [];
  let tickets = 0;
  const groups = yield* RemoteGroups.make({
    config,
    epoch: "now",
    broker: fake.broker,
    read: Reader.here({ limits: config.rollout, vocabulary: 10 }),
    newest: () => 4,
    ticket: () => `t${tickets++}`,
    tell: (change) => void told.push(change),
    shutOut: (names) => Effect.sync(() => void outside.push(names)),
  });
  const playOf = (of: Prompt) =>
    groups
      .play(rollout(), Rollout.training(config, new Set()), of)
      .pipe(Effect.provideService(Policy, nobody), Effect.provideService(Environments, nobody));
  const play = playOf(prompt);
  const metric = (name: string): number | undefined => toRecord(groups.metrics())[`workers/${name}`];
  return { fake, groups, metric, outside, play, playOf, told };
});

const played = (fiber: Fiber.Fiber<Group, unknown>) => fiber.pollUnsafe() !== undefined;
const bad = groupWith({ ...plainTurn, prompt: Int32Array.of(99) });

describe("groups that workers play", () => {
  it.effect("are offered when there is a worker, and acknowledged when they are in the books, not before", () =>
    Effect.gen(function* () {
      const { fake, groups, play } = yield* opened();
      const fiber = yield* Effect.forkChild(play, { startImmediately: true });
      yield* settled;
      expect(fake.stored.size).toBe(0);
      fake.say("a");
      yield* settled;
      expect([...fake.stored.values()].map((work) => work.prompt)).toEqual([prompt]);
      yield* fake.send("a", fake.leaseOf(7), groupWith(), "first");
      yield* settled;
      const group = yield* Fiber.join(fiber);
      expect(group).toEqual(groupWith());
      expect(fake.acknowledged).toEqual([]);
      yield* groups.booked(group);
      expect(new Set(fake.acknowledged)).toEqual(new Set(["first"]));
    }).pipe(Effect.scoped),
  );

  it.effect("count once, however often their results come", () =>
    Effect.gen(function* () {
      const { fake, groups, metric, play } = yield* opened();
      const fiber = yield* Effect.forkChild(play, { startImmediately: true });
      fake.say("a");
      yield* settled;
      const lease = fake.leaseOf(7);
      yield* fake.send("a", lease, groupWith(), "first");
      yield* settled;
      yield* fake.send("a", lease, groupWith(), "again");
      yield* settled;
      yield* groups.booked(yield* Fiber.join(fiber));
      yield* fake.send("a", lease, groupWith(), "late");
      yield* settled;
      expect(new Set(fake.acknowledged)).toEqual(new Set(["first", "again", "late"]));
      expect(metric("results")).toBe(1);
      expect(metric("dropped/duplicate")).toBe(2);
    }).pipe(Effect.scoped),
  );

  it.effect("are given to another when a result cannot be true, and its sender's lease is void", () =>
    Effect.gen(function* () {
      const { fake, metric, play } = yield* opened();
      const fiber = yield* Effect.forkChild(play, { startImmediately: true });
      fake.say("a");
      yield* settled;
      const first = fake.leaseOf(7);
      yield* fake.send("a", first, bad, "bad");
      yield* settled;
      const second = fake.leaseOf(7);
      expect(second.ticket).not.toBe(first.ticket);
      expect(metric("dropped/refused")).toBe(1);
      yield* fake.send("a", first, groupWith(), "void");
      yield* settled;
      expect(played(fiber)).toBe(false);
      expect(metric("dropped/late")).toBe(1);
      yield* fake.send("b", second, groupWith(), "good");
      yield* settled;
      expect(yield* Fiber.join(fiber)).toEqual(groupWith());
    }).pipe(Effect.scoped),
  );

  it.effect("are refused as stale with tokens of other weights than admission asks for", () =>
    Effect.gen(function* () {
      const { fake, metric, play } = yield* opened();
      yield* Effect.forkChild(play, { startImmediately: true });
      fake.say("a");
      yield* settled;
      const old = { ...plainTurn, sampled: { ...plainTurn.sampled, versions: Int32Array.of(2, 3) } };
      yield* fake.send("a", fake.leaseOf(7), groupWith(old), "old");
      yield* settled;
      expect(metric("dropped/stale")).toBe(1);
    }).pipe(Effect.scoped),
  );

  it.effect("go to others once a worker was refused five times in a row: it is shut out, by name, and told so", () =>
    Effect.gen(function* () {
      const { fake, metric, outside, play, playOf, told } = yield* opened();
      const fiber = yield* Effect.forkChild(play, { startImmediately: true });
      const held = yield* Effect.forkChild(playOf({ ...prompt, group: 8 }), { startImmediately: true });
      fake.say("a");
      yield* settled;
      const other = fake.leaseOf(8);
      fake.say("a", { leases: [other] });
      for (let i = 0; i < 5; i++) {
        expect(told.map(({ state }) => state._tag)).toEqual(["Up"]);
        yield* fake.send("a", fake.leaseOf(7), bad, `bad ${i}`);
        yield* settled;
      }
      expect(told.at(-1)).toMatchObject({
        role: "worker",
        name: "a",
        state: {
          _tag: "ShutOut",
          why: "5 of its messages in a row were refused, the last because an id of a prompt is not in the vocabulary",
        },
      });
      expect(outside).toEqual([["a"]]);
      expect([metric("shut_out"), metric("joined")]).toEqual([1, 0]);
      // What it says and sends counts for nothing, and what it held is others'.
      fake.say("a", { leases: [other] });
      yield* settled;
      expect(metric("joined")).toBe(0);
      fake.say("b");
      yield* settled;
      expect(fake.leaseOf(8).ticket).not.toBe(other.ticket);
      yield* fake.send("a", fake.leaseOf(7), groupWith(), "good, of a");
      yield* settled;
      expect(played(fiber)).toBe(false);
      yield* fake.send("b", fake.leaseOf(7), groupWith(), "good, of b");
      yield* fake.send("b", fake.leaseOf(8), groupWith(), "of b");
      yield* settled;
      expect([played(fiber), played(held)]).toEqual([true, true]);
    }).pipe(Effect.scoped),
  );

  it.effect("are given to no worker that never joined and was refused five times: it is shut out, too", () =>
    Effect.gen(function* () {
      const { fake, metric, outside, play } = yield* opened();
      yield* Effect.forkChild(play, { startImmediately: true });
      fake.sendBytes("stranger", Uint8Array.of(1, 2, 3), "unreadable");
      fake.sayBytes("stranger", Uint8Array.of(1, 2, 3));
      for (let group = 100; group < 103; group++) {
        yield* settled;
        expect(outside).toEqual([]);
        yield* fake.send("stranger", { epoch: "now", group, ticket: "guessed", delivery: 1 }, groupWith(), "guess");
      }
      yield* settled;
      expect(outside).toEqual([["stranger"]]);
      expect(metric("shut_out")).toBe(1);
      fake.say("stranger");
      yield* settled;
      expect([metric("joined"), fake.stored.size]).toEqual([0, 0]);
    }).pipe(Effect.scoped),
  );

  it.effect("are still given to a worker whose refusals were not in a row", () =>
    Effect.gen(function* () {
      const { fake, groups, outside, playOf } = yield* opened();
      fake.say("a");
      for (let round = 0; round < 3; round++) {
        const group = 20 + round;
        const fiber = yield* Effect.forkChild(playOf({ ...prompt, group }), { startImmediately: true });
        yield* settled;
        for (let i = 0; i < 3; i++) {
          yield* fake.send("a", fake.leaseOf(group), bad, "bad");
          yield* settled;
        }
        yield* fake.send("a", fake.leaseOf(group), groupWith(), "good");
        yield* settled;
        yield* groups.booked(yield* Fiber.join(fiber));
      }
      expect(outside).toEqual([]);
    }).pipe(Effect.scoped),
  );

  it.effect("are left to the broker while it has their lease, and offered anew when it does not", () =>
    Effect.gen(function* () {
      const { fake, play } = yield* opened();
      yield* Effect.forkChild(play, { startImmediately: true });
      const beat = Effect.gen(function* () {
        fake.say("a");
        yield* TestClock.adjust(leaseMs);
        yield* settled;
      });
      yield* beat;
      const first = fake.leaseOf(7);
      for (let i = 0; i < 8; i++) yield* beat;
      expect(fake.leaseOf(7).ticket).toBe(first.ticket);
      // Ended by somebody who sent no result.
      fake.stored.clear();
      for (let i = 0; i < 4; i++) yield* beat;
      expect(fake.leaseOf(7).ticket).not.toBe(first.ticket);
    }).pipe(Effect.scoped),
  );

  it.effect("come back when the last worker falls silent, by the learner's clock", () =>
    Effect.gen(function* () {
      const { fake, metric, play, told } = yield* opened();
      yield* Effect.forkChild(play, { startImmediately: true });
      fake.say("a");
      yield* settled;
      expect(metric("joined")).toBe(1);
      yield* TestClock.adjust(3 * leaseMs);
      yield* settled;
      expect(metric("joined")).toBe(0);
      expect(fake.stored.size).toBe(0);
      expect(told.map(({ name, state }) => [name, state._tag])).toEqual([
        ["a", "Up"],
        ["a", "Lost"],
      ]);
      fake.say("a");
      yield* settled;
      expect(fake.stored.size).toBe(1);
    }).pipe(Effect.scoped),
  );

  it.effect("are taken back from the broker when nobody wants them any more", () =>
    Effect.gen(function* () {
      const { fake, play } = yield* opened();
      const fiber = yield* Effect.forkChild(play, { startImmediately: true });
      fake.say("a");
      yield* settled;
      expect(fake.stored.size).toBe(1);
      yield* Fiber.interrupt(fiber);
      yield* settled;
      expect(fake.stored.size).toBe(0);
      expect(fake.withdrawn).toEqual([1]);
    }).pipe(Effect.scoped),
  );
});
