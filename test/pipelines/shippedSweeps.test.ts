/** Every sweep of config/sweeps resolves at each of its points, with nothing run. */
import { readdirSync, readFileSync } from "node:fs";
import { Console, Effect } from "effect";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { sweep } from "../../pipelines/sweep.ts";
import * as Stop from "../../src/support/process/Stop.ts";

const folder = new URL("../../config/sweeps/", import.meta.url);

/** The lines of `millrace sweep FILE --list`. */
const listed = async (file: string): Promise<readonly string[]> => {
  const lines: string[] = [];
  const quiet = { ...globalThis.console, log: (line: string) => void lines.push(line) };
  const listing = sweep({ file, overrides: [], jobs: 1, list: true }, () => Effect.die("nothing is to be run"));
  await Effect.runPromise(
    Effect.provideService(listing, Console.Console, quiet).pipe(Effect.provide(Stop.layerWithoutSignals)),
  );
  return lines;
};

const sizes = (tree: Readonly<Record<string, object>>): readonly number[] =>
  Object.values(tree).map((axis) => Object.keys(axis).length);

describe("the shipped sweeps", () => {
  it.each(readdirSync(folder))("%s resolves at every point", async (name) => {
    const { grid = {}, points = {} } = parse(readFileSync(new URL(name, folder), "utf8"));
    const inGrid = sizes(grid).length === 0 ? 0 : sizes(grid).reduce((all, size) => all * size, 1);
    const lines = await listed(name.replace(".yaml", ""));
    // Between the head and the sum.
    expect(lines.length - 2).toBe(inGrid + Object.keys(points).length);
  });
});
