import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "@effect/vitest";
import { Effect } from "effect";
import { describe, expect } from "vitest";
import * as EpisodeLog from "../../../src/tools/evaluation/EpisodeLog.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { episode } from "./made.ts";

const opened = <A>(path: string, use: (log: EpisodeLog.EpisodeLog) => Effect.Effect<A, unknown>) =>
  Effect.scoped(Effect.flatMap(EpisodeLog.make(path, 1), use));

describe("the log of episodes", () => {
  it.live("finds what an earlier one has written", () =>
    Effect.gen(function* () {
      const path = join(yield* temporaryFolder, "episodes.jsonl");
      const [one, two] = [episode(), episode({ seed: 124 })];
      yield* opened(path, (log) => Effect.andThen(log.append([one]), log.append([two])));
      expect(yield* opened(path, ({ finished }) => Effect.succeed(finished))).toEqual([one, two]);
    }),
  );

  it.live("cuts off what a kill has torn, before it appends", () =>
    Effect.gen(function* () {
      const path = join(yield* temporaryFolder, "episodes.jsonl");
      yield* opened(path, (log) => log.append([episode()]));
      yield* Effect.promise(() => appendFile(path, '{"custom_id":"FrozenLake-124-0","mess'));
      yield* opened(path, (log) => {
        expect(log.finished).toEqual([episode()]);
        return log.append([episode({ seed: 125 })]);
      });
      const text = yield* Effect.promise(() => readFile(path, "utf8"));
      expect(EpisodeLog.parse(text).map(({ seed }) => seed)).toEqual([123, 125]);
      expect(text.split("\n")).toHaveLength(3);
    }),
  );

  it.live("writes whole lines, however many are written at once", () =>
    Effect.gen(function* () {
      const path = join(yield* temporaryFolder, "episodes.jsonl");
      const many = Array.from({ length: 40 }, (_, seed) => episode({ seed, final: "x".repeat(20_000) }));
      yield* opened(path, (log) => Effect.forEach(many, (one) => log.append([one]), { concurrency: "unbounded" }));
      const text = yield* Effect.promise(() => readFile(path, "utf8"));
      expect(
        EpisodeLog.parse(text)
          .map(({ seed }) => seed)
          .sort((a, b) => a - b),
      ).toEqual(many.map(({ seed }) => seed));
    }),
  );

  it.live("counts an episode once, the last time it was written", () =>
    Effect.gen(function* () {
      const path = join(yield* temporaryFolder, "episodes.jsonl");
      const again = episode({ final: "other" });
      yield* opened(path, (log) => log.append([episode(), again]));
      expect(yield* opened(path, ({ finished }) => Effect.succeed(finished))).toEqual([again]);
    }),
  );

  it.live("is bad input where it cannot be written", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      const error = yield* Effect.flip(opened(folder, () => Effect.void));
      expect(error).toMatchObject({ _tag: "BadInput" });
    }),
  );
});
