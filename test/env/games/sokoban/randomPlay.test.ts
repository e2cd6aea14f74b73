/** Uniformly random play of ten actions scores as in the reference (400 groups of 16). */
import { describe, expect, it } from "vitest";
import { playRandomly } from "../../contract/players.ts";
import { preset } from "../../contract/presets.ts";
import { deviation, mean, standardErrors } from "../statistics.ts";

const reference = 400;
const environment = preset("CoordSokoban");
const groups = Array.from({ length: 800 }, (_, seed) =>
  Array.from({ length: 16 }, (_, member) => playRandomly(environment, 10_000 + seed, member, 10)),
);
const deviations = groups.map((group) => deviation(group.map(({ reward }) => reward)));

describe("random play of CoordSokoban", () => {
  it("succeeds in 18.6 % of the episodes", () => {
    const rates = groups.map((group) => mean(group.map(({ success }) => (success ? 1 : 0))));
    expect(standardErrors(rates, 0.186, reference)).toBeLessThan(3.5);
  });

  it("returns 1.14 on average", () => {
    expect(
      standardErrors(
        groups.map((group) => mean(group.map(({ reward }) => reward))),
        1.14,
        reference,
      ),
    ).toBeLessThan(3.5);
  });

  it("gives 46.5 % of the groups no spread of returns, and 2.29 on average", () => {
    expect(
      standardErrors(
        deviations.map((spread) => (spread < 1e-9 ? 1 : 0)),
        0.465,
        reference,
      ),
    ).toBeLessThan(3.5);
    expect(standardErrors(deviations, 2.29, reference)).toBeLessThan(3.5);
  });
});
