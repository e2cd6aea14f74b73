import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { reachConfig } from "../build/config.ts";
import { eventsOf, mixed, observed } from "./fakes.ts";

const lanesTo = (concurrency: number) => ({ _tag: "SetConcurrency", stage: "lanes", concurrency }) as const;

describe("the lanes of a run's learner", () => {
  it.live("are told their number between windows, and only where it changes", () =>
    Effect.gen(function* () {
      const seen: string[] = [];
      const { events } = yield* observed({
        config: reachConfig(),
        fates: mixed,
        lanes: { most: 3, use: (count) => Effect.sync(() => void seen.push(`use ${count}`)) },
        onEvent: (event, _, apply) => {
          if (event._tag === "Updated") seen.push(`updated ${event.window}`);
          if (event._tag !== "Learning") return;
          // While the update of window 0 is under way; the second change undoes the first before window 2.
          if (event.window === 0) apply(lanesTo(1));
          if (event.window === 1) for (const count of [2, 1, 9]) apply(lanesTo(count));
          if (event.window === 2) apply(lanesTo(3));
        },
      });
      expect(seen).toEqual(["use 1", "updated 0", "updated 1", "use 3", "updated 2", "updated 3"]);
      expect(eventsOf(events, "Controlled").map(({ control }) => control)).toEqual([1, 2, 1, 3].map(lanesTo));
    }),
  );

  it.live("cannot be set where there is one", () =>
    Effect.gen(function* () {
      const { events } = yield* observed({
        config: reachConfig(),
        fates: mixed,
        onEvent: (event, _, apply) => {
          if (event._tag === "Learning") apply(lanesTo(1));
        },
      });
      expect(eventsOf(events, "Controlled")).toEqual([]);
    }),
  );
});
