/** Short labels of runs. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runLabels } from "../../../../src/observe/watch/page/runLabels.ts";
import { assertProperty } from "../../../property.ts";

const run = (name: string, stamp: string) => ({ id: `${name}/${stamp}`, name, stamp });
const labelsOf = (...names: readonly string[]): readonly string[] => [
  ...runLabels(names.map((name) => run(name, "20261122-000000"))).values(),
];

describe("labels of runs", () => {
  it("have the whole name where it is short, and else its ends", () => {
    expect(labelsOf("quickstart", "a-name-that-is-longer-than-the-head-has-room-for")).toEqual([
      "quickstart · 20261122-000000",
      "a-name-that-is-l…ad-has-room-for · 20261122-000000",
    ]);
  });

  it("begin where names differ that have the same ends", () => {
    const [head, tail] = ["sweep-over-many-things/", ",filter.include_zero=false"];
    expect(labelsOf(`${head}lr=1e-4${tail}`, `${head}lr=3e-4${tail}`)).toEqual([
      `…/lr=1e-4${tail} · 20261122-000000`,
      `…/lr=3e-4${tail} · 20261122-000000`,
    ]);
  });

  it("never look alike for two runs", () => {
    const part = fc.stringMatching(/^[ab]{0,3}$/).map((text) => text.padEnd(24, "a"));
    const name = fc.oneof(
      fc.stringMatching(/^[ab…]{1,40}$/),
      fc.tuple(part, part, part).map((parts) => parts.join("")),
    );
    const runs = fc.uniqueArray(fc.record({ name, stamp: fc.constantFrom("1", "2") }), {
      selector: ({ name, stamp }) => `${name}/${stamp}`,
      maxLength: 12,
    });
    assertProperty(
      fc.property(runs, (all) => {
        const labels = runLabels(all.map(({ name, stamp }) => run(name, stamp)));
        expect(new Set(labels.values()).size).toBe(all.length);
      }),
    );
  });
});
