/** The bench of environments: whom it asks, and that everyone answers. */
import { describe, expect, it } from "vitest";
import { type Effort, measure, tags } from "../../bench/environments.ts";
import { environmentTypes } from "../../src/env/games/registry.ts";
import { presets } from "../env/contract/presets.ts";

const least: Effort = { episodes: { count: 1, actions: 2 }, ms: 1, iterations: 2, warmup: 1 };

describe("the bench of environments", () => {
  it("asks one preset of each that needs no server", () => {
    const served = ["alfworld", "lean", "remote", "webshop"];
    const types = tags.map((tag) => presets[tag]!.env_type);
    expect([...types, ...served].sort()).toEqual([...environmentTypes].sort());
  });

  it("measures pure ones inline and in threads", async () => {
    const figures = await measure("CoordFrozenLake", least);
    expect(figures.map(({ name }) => name)).toEqual(
      ["inline: instances", "inline: steps", "2 threads: instances", "2 threads: steps"].map(
        (name) => `CoordFrozenLake, ${name}`,
      ),
    );
    expect(figures.every(({ value }) => value > 0 && Number.isFinite(value))).toBe(true);
  });

  it("measures those that wait where they wait", async () => {
    const figures = await measure("SearchQAMock", least);
    expect(figures.map(({ name }) => name)).toEqual(
      ["instances", "steps"].map((name) => `SearchQAMock, waiting: ${name}`),
    );
    expect(figures.every(({ value }) => value > 0 && Number.isFinite(value))).toBe(true);
  });
});
