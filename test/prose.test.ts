/**
 * Keeps comments, key descriptions, metric meanings and pages plain: sentences with a subject, thirty words at most, and names that say what they
 * hold. A finding prints the sentence and what to do.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { keyInfos } from "../src/config/describe.ts";
import { RunConfig } from "../src/config/RunConfig.ts";
import { catalogue } from "../src/domain/metrics/Catalogue.ts";
import { readSources } from "./imports.ts";
import { commentsIn, namesIn, type Passage, paragraphsIn, sentencesIn, wordsIn } from "./prose.ts";

/** Beginnings of comments that hang on the name below them. */
const fragment = /^(What|Of|Where|Whether|How|Who|Whoever|Whose|Which|Those|That)\b/;
const mostWords = 30;

/** Names that say nothing of what they hold. */
const emptyNames = new Set(
  "of came told known asked made own wanted besides taken held played showing Entry Question Asked Taken Known Room Docket Pace Showing Crew".split(
    " ",
  ),
);

/** Findings that stay, by file and the first words of the sentence or the name, each with its reason. */
const exceptions: Readonly<Record<string, string>> = {};

const usedExceptions = new Set<string>();
const isExcepted = (path: string, text: string): boolean => {
  const key = Object.keys(exceptions).find((beginning) => `${path}: ${text}`.startsWith(beginning));
  if (key !== undefined) usedExceptions.add(key);
  return key !== undefined;
};

const sources = readSources("src", "pipelines", "test", "bench", "docs");

const findings = (path: string, { line, text }: Passage, isComment: boolean): readonly string[] => {
  const sentences = sentencesIn(text);
  const begins = isComment && fragment.test(text) && !text.endsWith("?");
  return [
    ...(begins ? [`${path}:${line}: give it a subject and a verb, or delete it: ${text.slice(0, 100)}`] : []),
    ...sentences
      .filter((sentence) => wordsIn(sentence) > mostWords)
      .map((sentence) => `${path}:${line}: ${wordsIn(sentence)} words, cut it in two: ${sentence.slice(0, 100)}`),
  ].filter(() => !isExcepted(path, text));
};

describe("the prose of the house", () => {
  it("has comments that are sentences of thirty words at most", () => {
    expect(
      sources.flatMap((file) => commentsIn(file).flatMap((comment) => findings(file.path, comment, true))),
    ).toEqual([]);
  });

  it("has key descriptions that stand alone", () => {
    expect(
      keyInfos(RunConfig).flatMap(({ description, key }) => findings(key, { line: 1, text: description }, true)),
    ).toEqual([]);
  });

  it("has metric meanings that stand alone", () => {
    const entries = catalogue.flatMap((section) => section.entries);
    const meanings = entries.map((entry) => ["name" in entry ? entry.name : entry.template, entry.meaning] as const);
    expect(meanings.flatMap(([name, meaning]) => findings(name, { line: 1, text: meaning }, true))).toEqual([]);
  });

  it("has pages with sentences of thirty words at most", () => {
    const pages = [
      "README.md",
      "CONTRIBUTING.md",
      "CHANGELOG.md",
      ...readdirSync("bench", { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".md"))
        .map((name) => join("bench", name)),
      ...readdirSync("docs", { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".md"))
        .map((name) => join("docs", name)),
    ];
    expect(
      pages.flatMap((path) =>
        paragraphsIn(readFileSync(path, "utf8")).flatMap((passage) => findings(path, passage, false)),
      ),
    ).toEqual([]);
  });

  it("has names that say what they hold", () => {
    const empty = sources.flatMap((file) =>
      namesIn(file)
        .filter(({ name }) => emptyNames.has(name) && !isExcepted(file.path, name))
        .map(({ line, name }) => `${file.path}:${line}: "${name}" says nothing of what it holds`),
    );
    expect(empty).toEqual([]);
  });

  it("has twenty exceptions at most, and uses each", () => {
    expect(Object.keys(exceptions).length).toBeLessThanOrEqual(20);
    expect([...usedExceptions].sort()).toEqual(Object.keys(exceptions).sort());
  });
});

describe("the reading of prose", () => {
  const findingsIn = (text: string) =>
    commentsIn({ path: "a.ts", text }).flatMap((comment) => findings("a.ts", comment, true));

  it("finds comments that begin as fragments, in each form", () => {
    const text =
      "/** Where they are an adapter. */\nconst a = 1;\n// Of the window,\n// which follows.\n/** What is it? */";
    expect(findingsIn(text).map((finding) => finding.slice(0, 7))).toEqual(["a.ts:1:", "a.ts:3:"]);
  });

  it("finds sentences of more than thirty words, code counted as one", () => {
    const words = (count: number) => Array.from({ length: count }, () => "word").join(" ");
    expect(findingsIn(`/** The ${words(30)}. */`)).toHaveLength(1);
    expect(findingsIn(`/** The ${words(28)} \`a b c\`. Another ${words(20)}. */`)).toEqual([]);
  });

  it("reads paragraphs, items and cells of pages, and no code", () => {
    const page = "# Of heads\n\nOne line\nand another.\n\n- item\n  goes on\n\n```\nOf code\n```\n\n| a | b |";
    expect(paragraphsIn(page).map(({ text }) => text)).toEqual(["One line and another.", "item goes on", "a", "b"]);
  });

  it("finds names that say nothing of what they hold", () => {
    const text = "const of = 1; function f(told: number) {} interface Entry {} const tail = (known) => known;";
    expect(namesIn({ path: "a.ts", text }).filter(({ name }) => emptyNames.has(name))).toHaveLength(4);
  });

  it("finds the names that a pattern gives, and not those that it only takes", () => {
    const text =
      "const { a: of, own, ...known } = x; const f = ([told], { b: [played] = [] }, asked = 1, ...made) => 1;";
    const names = namesIn({ path: "a.ts", text }).map(({ name }) => name);
    expect(names).toEqual(["of", "known", "f", "told", "played", "asked", "made"]);
  });
});
