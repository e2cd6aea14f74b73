import { it } from "@effect/vitest";
import { Effect, Tracer } from "effect";
import { describe, expect } from "vitest";
import { groupSpanned, spanned, TracedGroups } from "../../src/flow/spanned.ts";

/** The spans of `groups` groups with a turn each, of which a share is traced. */
const spansOf = (groups: number, share: number) =>
  Effect.gen(function* () {
    const names: string[] = [];
    const tracer = Tracer.make({
      span: (options) => {
        names.push(options.name);
        return new Tracer.NativeSpan(options);
      },
    });
    const playing = Effect.forEach(
      Array.from({ length: groups }, (_, group) => group),
      (group) => groupSpanned(spanned(Effect.void, "turn"), group, {}),
    );
    yield* spanned(playing, "train").pipe(
      Effect.provideService(TracedGroups, share),
      Effect.provideService(Tracer.Tracer, tracer),
    );
    const count = (name: string): number => names.filter((each) => each === name).length;
    return { train: count("train"), group: count("group"), turn: count("turn") };
  });

describe("the spans of groups", () => {
  it.effect("are all there unless a share is asked for", () =>
    Effect.gen(function* () {
      expect(yield* spansOf(50, 1)).toEqual({ train: 1, group: 50, turn: 50 });
      expect(yield* spansOf(50, 0)).toEqual({ train: 1, group: 0, turn: 0 });
    }),
  );

  it.effect("come whole or not at all, a share of them, from the first groups on", () =>
    Effect.gen(function* () {
      for (const groups of [20, 100, 1_000]) {
        const { group, train, turn } = yield* spansOf(groups, 0.1);
        expect([train, turn]).toEqual([1, group]);
        expect(Math.abs(group - groups / 10)).toBeLessThanOrEqual(2);
      }
    }),
  );
});
