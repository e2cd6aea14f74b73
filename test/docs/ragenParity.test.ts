/** docs/ragen-parity.md: every row says where a thing lives and what pins it, or "not yet"; every path in it exists. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../src/support/files/packageRoot.ts";

const page = readFileSync(join(packageRoot, "docs/ragen-parity.md"), "utf8");

const rows = page
  .split("\n")
  .filter((line) => line.startsWith("| ") && !/^\| (RAGEN|paper) \|/.test(line))
  .map((line) =>
    line
      .replaceAll("\\|", "¦")
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

const paths = (cell: string): readonly string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, path = ""]) => path);

describe("the rows of docs/ragen-parity.md", () => {
  it("are of three cells, and each thing is named once", () => {
    expect(rows.length).toBeGreaterThan(70);
    expect(rows.filter((row) => row.length !== 3)).toEqual([]);
    const names = rows.map(([name]) => name);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  it("name a place and a test, or say not yet in both cells", () => {
    const vague = rows.filter(([, here = "", test = ""]) => {
      if (here.startsWith("not yet") || test === "not yet") return !(here.startsWith("not yet") && test === "not yet");
      return paths(here).length === 0 || paths(test).length !== 1 || !test.startsWith("`test/");
    });
    expect(vague).toEqual([]);
  });

  it("name only paths that exist", () => {
    const named = rows.flatMap(([, here = "", test = ""]) => [...paths(here), ...paths(test)]);
    expect(named.filter((path) => !existsSync(join(packageRoot, path)))).toEqual([]);
  });
});
