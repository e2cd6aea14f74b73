/** docs/sweeps.md held to what it describes: its example, its table of keys, and its table of the shipped sweeps. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Result } from "effect";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { keyInfos } from "../../src/config/describe.ts";
import { packageRoot } from "../../src/support/files/packageRoot.ts";
import { pointsOf, runsOf } from "../../src/tools/sweep/Point.ts";
import { read, SweepKeys } from "../../src/tools/sweep/SweepFile.ts";

const textOf = (file: string): string => readFileSync(join(packageRoot, file), "utf8");
const page = textOf("docs/sweeps.md");

/** The cells of the rows between two heads of a table. */
const rowsAfter = (head: string): readonly (readonly string[])[] => {
  const [, rest = ""] = page.split(head);
  const [table = ""] = rest.split("\n\n");
  return table
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll("`", "")),
    );
};

const runsIn = (text: string, origin: string): number => {
  const file = Result.getOrThrow(read(parse(text), origin));
  return runsOf(file, Result.getOrThrow(pointsOf(file, origin))).length;
};

describe("docs/sweeps.md", () => {
  it("has an example that is a sweep file", () => {
    const [, example = ""] = page.split("```yaml\n");
    expect(runsIn(example.split("```")[0]!, "example")).toBe(21);
  });

  it("lists every key", () => {
    const listed = rowsAfter("| key | default | meaning |").flatMap(([names = ""]) => names.split(", "));
    const keys = new Set(keyInfos(SweepKeys).map(({ key }) => key.split(".")[0]!));
    expect(listed.toSorted()).toEqual([...keys].sort());
  });

  it("lists the shipped sweeps with the number of their runs", () => {
    const listed = rowsAfter("| file | points | runs |").map(([file, , runs]) => `${file}: ${runs}`);
    const shipped = readdirSync(join(packageRoot, "config/sweeps")).map(
      (name) => `${name.replace(".yaml", "")}: ${runsIn(textOf(`config/sweeps/${name}`), name)}`,
    );
    expect(listed.toSorted()).toEqual(shipped.toSorted());
  });
});
