/**
 * Every path that README.md, CONTRIBUTING.md and the pages of docs name exists. README.md stays short, docs/results.md is one screen, and what goes
 * into the package reads right there, too.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../src/support/files/packageRoot.ts";

const textOf = (file: string): string => readFileSync(join(packageRoot, file), "utf8");
const missing = (paths: readonly string[]): readonly string[] =>
  paths.filter((path) => !existsSync(join(packageRoot, path)));

/** Paths between backticks that begin with one of the repository's folders; those with a part to fill in are left out. */
const named = (text: string): readonly string[] =>
  [...text.matchAll(/`((?:src|pipelines|test|docs|config|bench)\/[^`\s]*)`/g)]
    .map(([, path = ""]) => path)
    .filter((path) => !/[<{…*,]/.test(path));

/** Targets of links to other files, from the root. */
const linked = (file: string): readonly string[] =>
  [...textOf(file).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, target = ""]) => join(dirname(file), target));

/** Folders of the tree under "The source", from the root. */
const tree = (): readonly string[] => {
  const [, section = ""] = textOf("README.md").split("\n## The source\n");
  const [, block = ""] = section.split("```");
  return block.split("\n").flatMap((line) => {
    const [, indent = "", folder] = /^( *)([a-z]+\/)/.exec(line) ?? [];
    return folder === undefined ? [] : [indent === "" ? folder : `src/${folder}`];
  });
};

const pages = [
  "README.md",
  "CONTRIBUTING.md",
  ...readdirSync(join(packageRoot, "docs"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file}`),
];

describe("CONTRIBUTING.md", () => {
  const paths = named(textOf("CONTRIBUTING.md"));

  it("names files that exist", () => {
    expect(paths.length).toBeGreaterThan(60);
    expect(missing(paths)).toEqual([]);
  });

  it("walks through every stage of the line", () => {
    const stages = readdirSync(join(packageRoot, "src/engine/stages")).map((file) => `src/engine/stages/${file}`);
    expect(stages.filter((stage) => !paths.includes(stage))).toEqual([]);
  });
});

describe("docs/results.md", () => {
  it("is one screen, of at most 60 lines", () => {
    expect(textOf("docs/results.md").split("\n").length).toBeLessThanOrEqual(60);
  });
});

describe("README.md", () => {
  it("is under 150 lines", () => {
    expect(textOf("README.md").split("\n").length).toBeLessThan(150);
  });

  it("shows the folders of src as they are", () => {
    const folders = readdirSync(join(packageRoot, "src"), { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    );
    const shown = tree();
    expect(missing(shown)).toEqual([]);
    expect(shown.filter((path) => path.startsWith("src/") && path !== "src/").sort()).toEqual(
      folders.map(({ name }) => `src/${name}/`).sort(),
    );
  });
});

describe("the pages", () => {
  it.each(pages)("%s names and links files that exist", (page) => {
    expect(missing([...named(textOf(page)), ...linked(page)])).toEqual([]);
  });
});

const note =
  "Paths below `src/`, `pipelines/`, `test/` and `bench/`, and what `npm run` runs, are the repository's: the npm package does not carry them.";

describe("the pages of the package", () => {
  const shipped = [
    ...pages.filter((page) => page !== "CONTRIBUTING.md"),
    "CHANGELOG.md",
    "config/models/nano/README.md",
  ];

  it.each(shipped)("%s says so where it names what only the repository has", (page) => {
    const text = textOf(page);
    const names = /(?<![\w/-])(?:\.\.\/)*(?:src|pipelines|test|bench)\/[\w.]|npm run /.test(text);
    expect(!names || text.includes(note)).toBe(true);
  });

  it.each(shipped)("%s has commands as `millrace`, which npm runs in a checkout alone", (page) => {
    expect(textOf(page)).not.toMatch(/npm run millrace -- [a-z]/);
  });
});
