import { Effect } from "effect";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Event } from "../../src/domain/Event.ts";
import * as FixedLag from "../../src/domain/FixedLag.ts";
import * as RunState from "../../src/domain/RunState.ts";
import { assertProperty } from "../property.ts";

/** For each consumed window, whether it made a version. */
const consumptions = fc.array(fc.boolean(), { maxLength: 30 });
const lags = fc.integer({ min: 0, max: 6 });

/** The version after each number of consumed windows, from 0 on. */
const versionsAfter = (trainedWindows: readonly boolean[]): readonly number[] => {
  const versions = [0];
  for (const isMade of trainedWindows) versions.push(versions.at(-1)! + (isMade ? 1 : 0));
  return versions;
};

const consumedEvent = (window: number, isMade: boolean, version: number): Event =>
  isMade
    ? { _tag: "Updated", window, groups: [], version, tokens: 0 }
    : { _tag: "EmptySelection", window, consecutive: 1 };

describe("a fixed lag", () => {
  it("plays each open window by the version that stood so many windows before", () => {
    assertProperty(
      fc.property(consumptions, lags, (trainedWindows, lag) => {
        const versions = versionsAfter(trainedWindows);
        let state = FixedLag.start(lag);
        for (let consumed = 0; consumed <= trainedWindows.length; consumed++) {
          if (consumed > 0) state = FixedLag.consume(state, versions[consumed]!);
          for (let window = consumed; window <= consumed + lag; window++) {
            expect(FixedLag.versionFor(state, consumed, window)).toBe(versions[Math.max(0, window - lag)]);
          }
          expect(FixedLag.versionFor(state, consumed, consumed + lag + 1)).toBeUndefined();
          expect(state.versions.length).toBeLessThanOrEqual(lag + 1);
          expect(FixedLag.inconsistency(state, { consumed, version: versions[consumed]! })).toBeUndefined();
        }
      }),
    );
  });

  it("is the same in a checkpoint, of which a resumed run admits as if never stopped", () => {
    assertProperty(
      fc.property(consumptions, lags, (trainedWindows, lag) => {
        const versions = versionsAfter(trainedWindows);
        let state = RunState.startUnder(FixedLag.start(lag));
        for (const [window, isMade] of trainedWindows.entries()) {
          const events: readonly Event[] = [
            consumedEvent(window, isMade, versions[window + 1]!),
            { _tag: "WeightsAdopted", version: versions[window + 1]! },
            { _tag: "StepClosed", step: window + 1, groups: [], seconds: 0 },
          ];
          state = events.reduce(RunState.observe, state);
        }
        // Windows of no groups need none in the ledger.
        const saved = RunState.toCheckpoint(state, 0);
        expect(RunState.checkpointProblem(saved)).toBeUndefined();
        expect(saved.position.fixedLag).toEqual(state.position.fixedLag);
        const text = Effect.runSync(RunState.encode(saved));
        expect(Effect.runSync(RunState.decode(text))).toEqual(saved);
      }),
    );
  });

  it("is none that a checkpoint can hold where its versions do not fit the run", () => {
    const state = { lag: 2, versions: [1, 1, 2] };
    const run = { consumed: 5, version: 2 };
    expect(FixedLag.inconsistency(state, run)).toBeUndefined();
    expect(FixedLag.inconsistency({ ...state, versions: [1, 2] }, run)).toContain("should keep 3");
    expect(FixedLag.inconsistency({ ...state, versions: [2, 1, 2] }, run)).toContain("do not rise to 2");
    expect(FixedLag.inconsistency(state, { ...run, version: 3 })).toContain("do not rise to 3");
  });

  it("of schema 3, which numbered groups by blocks of a window, goes on behind the blocks of consumed windows", () => {
    const begun = RunState.startUnder(FixedLag.start(0));
    const state = [consumedEvent(0, false, 0), { _tag: "StepClosed", step: 1, groups: [], seconds: 0 } as const].reduce(
      RunState.observe,
      begun,
    );
    const saved = RunState.toCheckpoint(state, 2);
    const { position, seeds, ...json } = JSON.parse(Effect.runSync(RunState.encode(saved)));
    const { refills: _, ...earlier } = seeds;
    const fixedLag = { ...position.fixedLag, numbers: 6 };
    const text = JSON.stringify({ ...json, schema: 3, seeds: earlier, position: { ...position, fixedLag } });
    expect(Effect.runSync(RunState.decode(text))).toEqual({ ...saved, seeds: { ...saved.seeds, next: 6 } });
  });

  it("is absent from a state of the schema before, which goes on without one", () => {
    const saved = RunState.toCheckpoint(RunState.initial, 2);
    const { position, ...json } = JSON.parse(Effect.runSync(RunState.encode(saved)));
    const { fixedLag: _, ...earlier } = position;
    const text = JSON.stringify({ ...json, schema: 2, position: earlier });
    expect(Effect.runSync(RunState.decode(text))).toEqual(saved);
  });
});
