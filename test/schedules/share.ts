/** The seeds of an exploration, in two shares that run in processes of their own. */
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { explore } from "./explore.ts";
import { keptSeeds } from "./keptSeeds.ts";

const first = Number(process.env.MILLRACE_SCHEDULES_SEED ?? 1);
const schedules = Number(process.env.MILLRACE_SCHEDULES ?? 1000);

/** Every second seed from `share` on. */
const seedsOf = (share: number): readonly number[] =>
  Array.from({ length: Math.ceil((schedules - share) / 2) }, (_, i) => first + share + 2 * i);

/** Tests every second seed, kept ones first in the first share. */
export const exploreShare = (share: 0 | 1): void => {
  describe(`explored schedules, share ${share + 1} of 2`, () => {
    if (share === 0 && keptSeeds.length > 0) {
      it.live.each(keptSeeds)("kept seed %i holds", (seed) =>
        Effect.map(
          Effect.promise(() => explore([seed])),
          (failure) => expect(failure).toBeNull(),
        ),
      );
    }
    const seeds = seedsOf(share);
    it.live(`${seeds.length} seeds from ${first + share} hold`, () =>
      Effect.map(
        Effect.promise(() => explore(seeds)),
        (failure) => expect(failure).toBeNull(),
      ),
    );
  });
};
