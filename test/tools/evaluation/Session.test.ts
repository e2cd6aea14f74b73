import { it } from "@effect/vitest";
import { Deferred, Effect, Fiber } from "effect";
import { describe, expect } from "vitest";
import type { EpisodeLog } from "../../../src/tools/evaluation/EpisodeLog.ts";
import type { EvaluatedEpisode } from "../../../src/tools/evaluation/EvaluatedEpisode.ts";
import { notPlayed } from "../../../src/tools/evaluation/NotPlayed.ts";
import * as Session from "../../../src/tools/evaluation/Session.ts";
import { episode } from "./made.ts";

const logOf = (...finished: readonly EvaluatedEpisode[]) => {
  const written: number[] = [];
  const log: EpisodeLog = {
    finished,
    append: (episodes) => Effect.sync(() => void written.push(...episodes.map(({ seed }) => seed))),
  };
  return { log, written };
};

const key = (seed: number) => ({ group: seed, tag: "FrozenLake", seed, member: 0 });
const episodeOf = (seed: number): EvaluatedEpisode => episode(key(seed));
const work = <E>(seed: number, play: Effect.Effect<EvaluatedEpisode, E> = Effect.succeed(episodeOf(seed))) => ({
  keys: [key(seed)],
  play: Effect.map(play, (one) => [one]),
});
const always = { concurrency: 2, admits: () => true, progress: () => Effect.void };

describe("a session", () => {
  it.effect("plays what is not finished, and keeps each as it finishes", () =>
    Effect.gen(function* () {
      const { log, written } = logOf(episodeOf(1));
      const { failure, standing } = yield* Session.run({ ...always, log, works: [work(0), work(1), work(2)] });
      expect(failure).toBe(null);
      expect(written).toEqual([0, 2]);
      expect(standing).toMatchObject({ planned: 3, underway: 0 });
      expect(standing.finished.map(({ seed }) => seed)).toEqual([1, 0, 2]);
      expect(standing.fresh.map(({ seed }) => seed)).toEqual([0, 2]);
    }),
  );

  it.effect("counts what is in the log and not in the plan for nothing", () =>
    Effect.gen(function* () {
      const { log } = logOf(episodeOf(9));
      const { standing } = yield* Session.run({ ...always, log, works: [work(0)] });
      expect(standing.finished.map(({ seed }) => seed)).toEqual([0]);
    }),
  );

  it.effect("ends at a failure, with what had finished", () =>
    Effect.gen(function* () {
      const { log, written } = logOf();
      const works = [work(0), work(1, Effect.fail("broken")), work(2)];
      const { failure, standing } = yield* Session.run({ ...always, concurrency: 1, log, works });
      expect([failure, written, standing.finished.length]).toEqual(["broken", [0], 1]);
    }),
  );

  it.effect("goes on after an episode that could not be played", () =>
    Effect.gen(function* () {
      const { log, written } = logOf();
      const lost = { keys: [key(0)], play: Effect.succeed([notPlayed(key(0), "exhausted", "status 500")]) };
      const { standing } = yield* Session.run({ ...always, log, works: [lost, work(1)] });
      expect(written).toEqual([1]);
      expect(standing.failed).toMatchObject([{ seed: 0, reason: "exhausted" }]);
    }),
  );

  it.effect("asks again whether a work may begin once another has ended, and not before", () =>
    Effect.gen(function* () {
      const { log, written } = logOf();
      const gate = yield* Deferred.make<void>();
      const works = [work(0, Effect.as(Deferred.await(gate), episodeOf(0))), work(1), work(2)];
      // One at a time, and two in all.
      const admits = ({ finished, underway }: Session.Standing) => underway === 0 && finished.length < 2;
      const running = yield* Effect.forkChild(Session.run({ ...always, concurrency: 3, admits, log, works }));
      yield* Effect.yieldNow;
      expect(written).toEqual([]);
      yield* Deferred.succeed(gate, undefined);
      const { failure, standing } = yield* Fiber.join(running);
      expect(failure).toBe(null);
      expect(standing.finished).toHaveLength(2);
    }),
  );
});
