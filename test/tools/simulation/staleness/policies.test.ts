/** Staleness policies on the model of the bench, in short runs. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  balances,
  type Case,
  isBounded,
  lengths,
  measure,
  policies,
  simulate,
} from "../../../../bench/stalenessModel.ts";
import { sum } from "../../../../src/domain/Statistics.ts";
import { assertProperty } from "../../../property.ts";

const WINDOWS = 12;

const cases: fc.Arbitrary<Case> = fc.record({
  lengths: fc.constantFrom(...lengths),
  balance: fc.constantFrom(...(Object.keys(balances) as (keyof typeof balances)[])),
  maxStaleness: fc.integer({ min: 1, max: 4 }),
  seed: fc.nat(1000),
  fixedShare: fc.constantFrom(0, 0.5, 0.9),
  slots: fc.constantFrom(20, 64, 150),
  areIndependent: fc.boolean(),
  hasSlowSteps: fc.boolean(),
  buffer: fc.integer({ min: 8, max: 20 }),
});

const given: Case = { lengths: "lognormal(1)", balance: "balanced", maxStaleness: 2, seed: 1 };

const forEveryCase = (check: (given: Case) => void): void =>
  assertProperty(fc.property(cases, check), { numRuns: 8, interruptAfterTimeLimit: 20_000 });

describe.each(policies)("%s", (policy) => {
  it("trains, throws away or still holds every token that was generated", () => {
    forEveryCase((given) => {
      const { discarded, generated, inFlight, windows } = simulate(policy, given, WINDOWS);
      const trained = sum(windows.map((window) => window.trained));
      const wasted = sum(discarded.map(({ tokens }) => tokens));
      expect(windows).toHaveLength(WINDOWS);
      expect(trained + wasted + inFlight).toBe(generated);
    });
  });

  it("trains each group once at most, and none that it threw away", () => {
    forEveryCase((given) => {
      const { discarded, windows } = simulate(policy, given, WINDOWS);
      const numbers = [...windows.flatMap(({ groups }) => groups), ...discarded.map(({ number }) => number)];
      expect(new Set(numbers).size).toBe(numbers.length);
    });
  });

  it("gives the same run for the same seed, and another one for another", () => {
    const first = simulate(policy, given, WINDOWS);
    expect(simulate(policy, given, WINDOWS)).toEqual(first);
    expect(simulate(policy, { ...given, seed: 2 }, WINDOWS)).not.toEqual(first);
  });
});

describe("the staleness of every trained token", () => {
  it.each(policies.filter(isBounded))("is no more versions than the bound under %s", (policy) => {
    forEveryCase((given) => {
      const { windows } = simulate(policy, given, WINDOWS);
      expect(Math.max(...windows.map(({ mostBehind }) => mostBehind))).toBeLessThanOrEqual(given.maxStaleness);
    });
  });
});

describe("a fixed lag", () => {
  it("trains every token of a window from weights that are exactly as many versions newer", () => {
    forEveryCase((given) => {
      simulate("fixed lag", given, WINDOWS).windows.forEach(({ mostBehind, trained, versionsBehind }, window) => {
        const lag = Math.min(window, given.maxStaleness);
        expect([mostBehind, versionsBehind]).toEqual([lag, lag * trained]);
      });
    });
  });

  it("trains the same groups in the same windows as the bound at admission", () => {
    const groupsOf = (policy: "fixed lag" | "bound at admission") =>
      simulate(policy, given, WINDOWS).windows.map(({ groups }) => groups.toSorted((a, b) => a - b));
    expect(groupsOf("fixed lag")).toEqual(groupsOf("bound at admission"));
  });
});

describe("what is thrown away", () => {
  it.each(["bound at admission", "completion order", "fixed lag", "feasible waiting"] as const)(
    "is nothing under %s",
    (policy) => {
      forEveryCase((given) => {
        expect(simulate(policy, given, WINDOWS).discarded).toEqual([]);
      });
    },
  );

  it.each(["drop at consumption", "cancel in flight"] as const)("is long rather than short under %s", (policy) => {
    const { longestTenth, trainedLength, waste } = measure(policy, { ...given, maxStaleness: 1 }, 60, 10);
    expect(waste).toBeGreaterThan(0.3);
    expect(trainedLength).toBeLessThan(0.7);
    expect(longestTenth).toBeLessThan(0.3);
  });

  it("is less where a group is aborted than where it is played to its end", () => {
    const wasteOf = (policy: "drop at consumption" | "cancel in flight") => measure(policy, given, 60, 10).waste;
    expect(wasteOf("cancel in flight")).toBeLessThan(wasteOf("drop at consumption"));
  });
});

describe("waiting that is feasible", () => {
  it("trains fresher tokens than the bound at admission, where the bound leaves it a choice", () => {
    const stalenessOf = (policy: "bound at admission" | "feasible waiting") =>
      measure(policy, { ...given, maxStaleness: 4 }, 60, 10).meanStaleness;
    expect(stalenessOf("feasible waiting")).toBeLessThan(0.7 * stalenessOf("bound at admission"));
  });
});

describe("the bounds of the model", () => {
  it("are reached by no policy, but nearly where nothing is uneven", () => {
    for (const policy of policies) {
      const { throughput } = measure(policy, { ...given, lengths: "deterministic", maxStaleness: 4 }, 60, 10);
      expect(throughput).toBeLessThanOrEqual(1);
      if (policy !== "fixed lag") expect(throughput).toBeGreaterThan(0.9);
    }
  });
});
