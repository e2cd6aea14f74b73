import { describe, expect, it } from "vitest";
import {
  confirmation,
  confirmationLength,
  isEnough,
  isWarm,
  type Length,
  probeLength,
  probesEnd,
} from "../../../src/tools/tuning/Effort.ts";

/** The windows of a run that starts in 3 s and then takes `window` milliseconds for each. */
const runOf = (length: Length, window: number) => {
  let warmUp: number | undefined;
  for (let windows = 1; ; windows++) {
    const now = { windows, elapsed: 3_000 + windows * window };
    if (warmUp === undefined && isWarm(length, now)) warmUp = windows;
    if (isEnough(length, now, warmUp)) return { warmUp: warmUp ?? 0, measured: windows - (warmUp ?? 0), ...now };
  }
};

/** The first of seven probes in a budget of so many minutes. */
const probeIn = (minutes: number): Length => probeLength(probesEnd(minutes * 60_000), 7, 3, 6);

describe("how long a probe is", () => {
  it("is warmed up by windows and by time, and sees many windows, where the budget is large", () => {
    expect(runOf(probeIn(15), 850)).toMatchObject({ warmUp: 9, measured: 24 });
    expect(runOf(probeIn(15), 100)).toMatchObject({ warmUp: 70, measured: 24 });
  });

  it("leaves out no more than a third of its time, where windows are slow", () => {
    expect(runOf(probeIn(15), 4_000)).toMatchObject({ warmUp: 5, measured: 9 });
  });

  it("has its fewest windows once it has settled, where the budget is small", () => {
    expect(runOf(probeIn(3), 3_000)).toMatchObject({ warmUp: 3, measured: 6 });
  });

  it("takes its share of the time, and half of what is left at most", () => {
    for (const window of [300, 1_000, 2_000]) {
      const length = probeIn(6);
      expect(runOf(length, window).elapsed).toBeLessThanOrEqual(length.time + window);
    }
    const length = probeIn(1);
    expect(runOf(length, 6_000).elapsed).toBeLessThanOrEqual(length.bound + 6_000);
  });

  it("is one window where no time is left", () => {
    expect(runOf(probeLength(-5, 4, 3, 6), 1_000).windows).toBe(1);
  });
});

describe("what is left for confirmation", () => {
  it("runs every candidate several times where there is time", () => {
    expect(confirmation(600_000, 3, 1_000, 3)).toEqual({ candidates: 3, rounds: 4 });
    expect(confirmation(900_000, 3, 1_000, 3)).toEqual({ candidates: 3, rounds: 5 });
  });

  it("runs fewer candidates where there is not, and one at least", () => {
    expect(confirmation(200_000, 3, 1_000, 3)).toEqual({ candidates: 2, rounds: 2 });
    expect(confirmation(0, 3, 1_000, 3)).toEqual({ candidates: 1, rounds: 1 });
  });

  it("runs each twice rather than more of them", () => {
    expect(confirmation(600_000, 3, 4_000, 3)).toEqual({ candidates: 1, rounds: 2 });
    expect(confirmation(60_000, 3, 1_000, 3)).toEqual({ candidates: 1, rounds: 2 });
  });

  it.each([40_000, 100_000, 333_000])("takes no longer than %d ms, but for the last windows", (left) => {
    const window = 1_500;
    const { candidates, rounds } = confirmation(left, 3, window, 3);
    const runs = (candidates + 1) * rounds;
    let spent = 0;
    for (let run = 0; run < runs; run++) {
      spent += runOf(confirmationLength(left - spent, runs - run, 3), window).elapsed;
    }
    expect(spent).toBeLessThanOrEqual(left + window);
  });

  it.each([300_000, 500_000, 900_000])("warms runs up as the probes are, with %d ms left", (left) => {
    const { candidates, rounds } = confirmation(left, 3, 850, 3);
    const length = confirmationLength(left, (candidates + 1) * rounds, 3);
    expect(runOf(length, 850).warmUp).toBe(runOf(probeIn(15), 850).warmUp);
  });
});
