import { describe, it } from "@effect/vitest";
import { Deferred, Effect, Fiber, Result } from "effect";
import { TestClock } from "effect/testing";
import { expect } from "vitest";
import type { Prompt } from "../../../src/domain/Group.ts";
import * as GroupCodec from "../../../src/remote/workers/GroupCodec.ts";
import * as Messages from "../../../src/remote/workers/Messages.ts";
import * as Worker from "../../../src/remote/workers/Worker.ts";
import { FakeWorkerBroker } from "./fakes.ts";
import { groupWith, prompt } from "./groups.ts";

const settle = Effect.gen(function* () {
  for (let i = 0; i < 20; i++) {
    yield* Effect.promise(() => new Promise<void>((resolve) => setTimeout(resolve, 1)));
    yield* TestClock.adjust(0);
  }
});

/** Runs everything that is due, before and after `ms` milliseconds pass. */
const advance = (ms: number) => Effect.andThen(settle, Effect.andThen(TestClock.adjust(ms), settle));

/** Results are compressed on threads of Node's, whose time is real: this waits until that is done. */
const until = (isDone: () => boolean) =>
  Effect.gen(function* () {
    for (let i = 0; i < 500 && !isDone(); i++) yield* settle;
  });

const work = (group: number, admittedAt = 0, epoch = "e1", ticket = `t${group}`): Messages.LeaseMessage => ({
  protocol: Messages.PROTOCOL,
  epoch,
  ticket,
  prompt: { ...prompt, group, admittedAt },
});

/** A worker whose groups take `playMs`, and whose versions are adopted as soon as they are announced. */
const start = Effect.fnUntraced(function* (playMs = 1_000, stopMs = 500) {
  const fake = new FakeWorkerBroker();
  const stopping = Deferred.makeUnsafe<void>();
  const adopted: number[] = [];
  const joined: string[] = [];
  const playedGroups: number[] = [];
  let version = 0;
  const runner: Worker.GroupRunner = {
    slots: 4,
    groupSize: 2,
    play: (prompt: Prompt) =>
      Effect.gen(function* () {
        yield* Effect.sleep(playMs);
        playedGroups.push(prompt.group);
        return { ...groupWith(), prompt };
      }),
    adopt: (next) =>
      Effect.sync(() => {
        version = next;
        adopted.push(next);
      }),
    awaitVersion: (least) => (version >= least ? Effect.void : Effect.never),
    sampled: Effect.sync(() => ({ version, tokens: 0 })),
    died: Effect.never,
  };
  const running = yield* Effect.forkChild(
    Effect.result(
      Worker.run({
        name: "w1",
        broker: fake.broker,
        makeRunner: (description, first) =>
          Effect.sync(() => {
            version = first;
            joined.push(`${description.epoch} ${first}`);
            return runner;
          }),
        stopRequested: Deferred.await(stopping),
        stopTimeoutMs: stopMs,
        waitsForRestart: false,
        print: () => undefined,
      }),
    ),
    { startImmediately: true },
  );
  return { fake, adopted, joined, playedGroups, running, stop: Effect.asVoid(Deferred.succeed(stopping, undefined)) };
});

describe("a worker", () => {
  it.effect("keeps a lease alive while it plays, stores the result, and ends the lease last", () =>
    Effect.gen(function* () {
      const { fake, running } = yield* start();
      fake.describe();
      fake.announce(0);
      fake.give(work(7));
      yield* settle;
      for (let i = 0; i < 10; i++) yield* Effect.andThen(TestClock.adjust(100), settle);
      yield* until(() => fake.answers.includes("end 7"));
      expect(fake.answers).toEqual(["alive 7", "alive 7", "alive 7", "alive 7", "end 7"]);
      const bytes = Buffer.concat(fake.stored.map(({ part }) => part.bytes));
      expect(fake.stored.length).toBeGreaterThan(1);
      expect(new Set(fake.stored.map(({ id }) => id)).size).toBe(fake.stored.length);
      expect(fake.stored.map(({ part }) => part.lease.ticket)).toContain("t7");
      const group = yield* GroupCodec.decode(bytes, { ...prompt, admittedAt: 0 });
      expect(group.episodes).toEqual(groupWith().episodes);
      expect(fake.gauges.some(({ leases }) => leases.length === 1)).toBe(true);
      yield* Fiber.interrupt(running);
    }),
  );

  it.effect("plays a group once that it is given twice, and keeps each of its leases alive", () =>
    Effect.gen(function* () {
      const { fake, playedGroups, running } = yield* start();
      fake.describe();
      fake.announce(0);
      fake.give(work(7));
      yield* advance(100);
      // nats-server before 2.10.14 sends the same delivery again when another worker gives a lease back.
      fake.give(work(7));
      // The learner has refused another worker's result under the first offer.
      fake.give(work(7, 0, "e1", "anew"));
      fake.give(work(8));
      yield* advance(100);
      const leases = fake.gauges.flatMap((gauges) => gauges.leases.map(({ group, ticket }) => `${group} ${ticket}`));
      expect(new Set(leases)).toEqual(new Set(["7 t7", "7 anew", "8 t8"]));
      expect(fake.gauges.at(-1)?.playing).toBe(2);
      yield* Effect.andThen(TestClock.adjust(1_000), settle);
      yield* until(() => fake.answers.filter((answers) => answers.startsWith("end")).length === 3);
      expect(playedGroups).toEqual([7, 8]);
      expect(fake.answers.filter((answers) => answers === "end 7")).toHaveLength(2);
      expect(new Set(fake.stored.map(({ part }) => part.lease.ticket))).toEqual(new Set(["t7", "anew", "t8"]));
      // Its slots are free again: two groups fill them, and one more is at hand.
      for (const group of [9, 10, 11]) fake.give(work(group));
      yield* advance(100);
      expect(fake.gauges.at(-1)?.playing).toBe(3);
      yield* Fiber.interrupt(running);
    }),
  );

  it.effect("answers for the newest delivery of a lease that was given again while it playedGroups", () =>
    Effect.gen(function* () {
      const { fake, playedGroups, running } = yield* start();
      fake.describe();
      fake.announce(0);
      fake.give(work(7));
      yield* advance(100);
      fake.give(work(7), 2);
      // A server may give the first delivery once more after the second.
      fake.give(work(7), 1);
      yield* advance(900);
      yield* until(() => fake.answers.includes("end 7"));
      expect(playedGroups).toEqual([7]);
      expect(new Set(fake.stored.map(({ part }) => part.lease.delivery))).toEqual(new Set([2]));
      expect(fake.answers.filter((answers) => !answers.startsWith("alive"))).toEqual(["end 7"]);
      yield* Fiber.interrupt(running);
    }),
  );

  it.effect("gives back every lease of a group that it does not finish", () =>
    Effect.gen(function* () {
      const { fake, playedGroups, running, stop } = yield* start(10_000, 500);
      fake.describe();
      fake.announce(0);
      fake.give(work(7));
      fake.give(work(7, 0, "e1", "anew"));
      yield* settle;
      yield* stop;
      yield* advance(500);
      expect(Result.getOrThrow(yield* Fiber.join(running))).toBe("stopped");
      expect(playedGroups).toEqual([]);
      expect(fake.answers.filter((answers) => !answers.startsWith("alive"))).toEqual(["back 7", "back 7"]);
    }),
  );

  it.effect("waits for the weights that a group asks for, and gives it back where they do not come", () =>
    Effect.gen(function* () {
      const { adopted, fake, playedGroups, running } = yield* start();
      fake.describe();
      fake.announce(0);
      fake.give(work(7, 5));
      yield* advance(1_800);
      expect(fake.answers.at(-1)).toBe("back 7");
      expect(playedGroups).toEqual([]);
      fake.announce(4);
      fake.announce(5);
      yield* settle;
      expect(adopted.at(-1)).toBe(5);
      fake.give(work(7, 5), 2);
      yield* advance(1_000);
      expect(playedGroups).toEqual([7]);
      yield* until(() => fake.answers.includes("end 7"));
      expect(fake.answers.at(-1)).toBe("end 7");
      yield* Fiber.interrupt(running);
    }),
  );

  it.effect("takes no more groups than it has room for", () =>
    Effect.gen(function* () {
      const { fake, running } = yield* start(100_000);
      fake.describe();
      fake.announce(0);
      for (let group = 0; group < 10; group++) fake.give(work(group));
      yield* settle;
      // Two groups fill its slots, and one more is at hand.
      yield* Effect.andThen(TestClock.adjust(100), settle);
      expect(fake.gauges.at(-1)?.playing).toBe(3);
      expect(fake.gauges.flatMap(({ leases }) => leases.map(({ group }) => group))).toEqual([0, 1, 2]);
      // Each lease time, one report names all leases.
      for (let i = 0; i < 10; i++) yield* Effect.andThen(TestClock.adjust(100), settle);
      expect(fake.gauges.filter(({ leases }) => leases.length === 3)).not.toEqual([]);
      yield* Fiber.interrupt(running);
    }),
  );

  it.effect("that is answers to stop finishes what it can in time, gives the rest back, and takes nothing more", () =>
    Effect.gen(function* () {
      const { fake, playedGroups, running, stop } = yield* start(1_000, 500);
      fake.describe();
      fake.announce(0);
      fake.give(work(1));
      yield* advance(700);
      fake.give(work(2));
      yield* settle;
      yield* stop;
      fake.give(work(3));
      yield* advance(400);
      yield* until(() => fake.answers.includes("end 1"));
      yield* Effect.andThen(TestClock.adjust(100), settle);
      expect(playedGroups).toEqual([1]);
      expect(fake.answers.filter((answers) => !answers.startsWith("alive")).sort()).toEqual(["back 2", "end 1"]);
      expect(Result.getOrThrow(yield* Fiber.join(running))).toBe("stopped");
      expect(fake.gauges.at(-1)).toMatchObject({ leaves: true, leases: [] });
    }),
  );

  it.effect("joins the run anew when it begins anew, and ends with it", () =>
    Effect.gen(function* () {
      const { fake, playedGroups, running, joined } = yield* start();
      // The end of an earlier run is no reason to end.
      fake.describe({ epoch: "e0", ended: true });
      yield* settle;
      fake.describe();
      fake.announce(0);
      fake.give(work(1));
      yield* settle;
      fake.describe({ epoch: "e2" });
      fake.announce(3, "e2");
      yield* settle;
      fake.give(work(1));
      fake.give(work(2, 0, "e2"));
      yield* advance(1_000);
      expect(joined).toEqual(["e1 0", "e2 3"]);
      expect(playedGroups).toEqual([2]);
      fake.describe({ epoch: "e2", ended: true });
      yield* settle;
      expect(Result.getOrThrow(yield* Fiber.join(running))).toBe("ended");
    }),
  );

  it.effect("says which version to install where the learner speaks another protocol", () =>
    Effect.gen(function* () {
      const { fake, running } = yield* start();
      fake.describe({ protocol: Messages.PROTOCOL + 1, program: "9.9" });
      fake.announce(0);
      const result = yield* Fiber.join(running);
      expect(Result.isFailure(result) && result.failure.message).toContain("millrace 9.9");
    }),
  );

  it.effect("ends when the learner takes no more of it, and says so", () =>
    Effect.gen(function* () {
      const { fake, running, joined } = yield* start();
      fake.describe();
      fake.announce(0);
      yield* settle;
      expect(joined).toEqual(["e1 0"]);
      fake.describe({ shutOut: ["w2"] });
      yield* settle;
      expect(running.pollUnsafe()).toBeUndefined();
      fake.describe({ shutOut: ["w2", "w1"] });
      const ended = yield* Fiber.join(running);
      expect(Result.isFailure(ended) && ended.failure).toMatchObject({
        _tag: "ShutOut",
        message: expect.stringContaining("the learner of run refused so many results of w1 that it takes no more"),
      });
    }).pipe(Effect.scoped),
  );
});
