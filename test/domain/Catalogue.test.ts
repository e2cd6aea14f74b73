import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { catalogue, entryOf, nameOf } from "../../src/domain/metrics/Catalogue.ts";
import { metricsPage } from "../generators/metricsPage.ts";

const names = catalogue.flatMap(({ entries }) => entries.map(nameOf));

describe("the catalogue of metrics", () => {
  it("has every name once", () => {
    expect(names.length).toBeGreaterThan(120);
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
  });

  it("finds an entry by a metric's name, those of families too", () => {
    expect(entryOf("actor/pg_loss")).toMatchObject({ unit: "1", kind: "mean" });
    expect(entryOf("stage/rollout/busy")).toMatchObject({ template: "stage/{stage}/busy", kind: "share" });
    expect(entryOf("train/CoordSokoban/pass@16")).toMatchObject({ template: "{split}/{tag}/pass@{size}" });
    expect(entryOf("actor/nothing")).toBeUndefined();
    expect(entryOf("val/success")).toBeUndefined();
  });

  it("is what docs/metrics.md says", () => {
    const page = readFileSync(new URL("../../docs/metrics.md", import.meta.url), "utf8");
    expect(page).toBe(metricsPage(page));
  });

  it("has every metric that docs/metrics.md tells how to read", () => {
    const page = readFileSync(new URL("../../docs/metrics.md", import.meta.url), "utf8");
    const prose = page.slice(0, page.indexOf("<!--"));
    const mentioned = Array.from(prose.matchAll(/`([\w{}-]+(?:\/[\w{}@-]+)+)`/g), ([, name]) => name ?? "");
    expect(mentioned.length).toBeGreaterThan(20);
    expect(mentioned.filter((name) => !names.includes(name) && entryOf(name) === undefined)).toEqual([]);
  });
});
