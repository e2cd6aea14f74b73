/** A few explored schedules with the other tests; `npm run test:schedules` explores a thousand. */
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { explore } from "./explore.ts";
import { keptSeeds } from "./keptSeeds.ts";
import { play } from "./playSchedule.ts";
import { scheduleOf } from "./Schedule.ts";

const some = Array.from({ length: 12 }, (_, i) => i + 1);

describe("explored schedules", () => {
  it.live("hold for the kept seeds and for some others", () =>
    Effect.gen(function* () {
      expect(yield* Effect.promise(() => explore([...keptSeeds, ...some]))).toBeNull();
    }),
  );

  it.live("repeat themselves: a seed gives the same events at the same times", () =>
    Effect.gen(function* () {
      for (const seed of [3, 4, 5, 6]) {
        const tagsOf = Effect.map(
          Effect.promise(() => play(scheduleOf(seed))),
          (exit) =>
            (exit._tag === "Success" ? exit.value : []).map(({ events }) =>
              events.map(({ at, event }) => [at, event._tag]),
            ),
        );
        expect(yield* tagsOf).toEqual(yield* tagsOf);
      }
    }),
  );
});
