/** A folder of documents of every format, read and refused. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { contentOf, locateFolder, readDocuments } from "../../../../src/env/games/search/Documents.ts";
import { localIndex } from "../../../../src/env/games/search/LocalIndex.ts";

const withFolder = async <A>(
  files: Readonly<Record<string, string>>,
  use: (folder: string) => Promise<A>,
): Promise<A> => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-documents-"));
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
};

const reading = (files: Readonly<Record<string, string>>) => withFolder(files, readDocuments);

describe("a folder of documents", () => {
  it("is read file by file, in the order of their paths", async () => {
    const documents = await reading({
      "b.txt": "  Plain text.\n",
      "a/deep.md": "# The Title\n\nBody of *text*.",
      "c.md": "No heading.",
      "ignored.csv": "x,y",
    });
    expect(documents).toEqual([
      { id: "a/deep.md", title: "The Title", text: "Body of *text*." },
      { id: "b.txt", title: "", text: "Plain text." },
      { id: "c.md", title: "", text: "No heading." },
    ]);
  });

  it("takes a document from each line, under any of three names", async () => {
    const lines = [{ id: "x", title: "T", text: "one" }, { id: 7, contents: "two" }, { content: "three" }];
    const documents = await reading({ "d.jsonl": `${lines.map((line) => JSON.stringify(line)).join("\n")}\n\n` });
    expect(documents).toEqual([
      { id: "x", title: "T", text: "one" },
      { id: "7", title: "", text: "two" },
      { id: "d.jsonl:3", title: "", text: "three" },
    ]);
  });

  it.each([
    [{}, "holds no .txt, .md or .jsonl document"],
    [{ "d.jsonl": '{"text":"a"}\nno' }, "d.jsonl:2"],
    [{ "d.jsonl": '{"title":"a"}' }, "d.jsonl:1: a document has a text, contents or content"],
    [{ "d.jsonl": '{"text":3}' }, "d.jsonl:1: "],
    [{ "d.jsonl": '{"id":"a","text":"x"}\n{"id":"a","text":"y"}' }, 'two documents have the id "a"'],
  ])("is refused in words: %j", async (files, said) => {
    await expect(reading(files)).rejects.toThrow(said);
  });

  it("shows a title above its text", () => {
    expect(contentOf({ id: "a", title: "T", text: "x" })).toBe("T\nx");
    expect(contentOf({ id: "a", title: "", text: "x" })).toBe("x");
  });

  it("is found from the package too", () => {
    expect(locateFolder("config/data/search/corpus")).toMatch(/config.data.search.corpus$/);
    expect(locateFolder("config/data/search/nowhere")).toBeNull();
  });
});

describe("the local index", () => {
  const files = {
    "gull.txt": "The gull is a bird of the harbour. A gull eats fish.",
    "fish.txt": "Fish live in the harbour and in the sea.",
    "clock.md": "# Café Clock\nIt strikes at noon.",
  };

  it("gives the best documents first, and only those with a word of the query", () =>
    withFolder(files, async (folder) => {
      const index = await localIndex(folder);
      const found = index.search("gull of the harbour", 5);
      expect(found.map(({ id }) => id)).toEqual(["gull.txt", "fish.txt"]);
      expect(found[0]!.score).toBeGreaterThan(found[1]!.score);
      expect(index.search("gull of the harbour", 1).length).toBe(1);
      expect(index.search("volcano", 5)).toEqual([]);
    }));

  it("finds a name however its case and accents are typed", () =>
    withFolder(files, async (folder) => {
      expect((await localIndex(folder)).search("CAFE", 5).map(({ id }) => id)).toEqual(["clock.md"]);
    }));

  it("puts equal documents in the order of their ids", () =>
    withFolder({ "b.txt": "same words", "a.txt": "same words", "c.txt": "same words" }, async (folder) => {
      expect((await localIndex(folder)).search("words", 2).map(({ id }) => id)).toEqual(["a.txt", "b.txt"]);
    }));

  it("is built once", () =>
    withFolder(files, async (folder) => {
      const [one, two] = await Promise.all([localIndex(folder), localIndex(folder)]);
      expect(one).toBe(two);
    }));

  it("is built anew after a folder that could not be read", () =>
    withFolder({}, async (folder) => {
      await expect(localIndex(folder)).rejects.toThrow("holds no");
      writeFileSync(join(folder, "late.txt"), "late");
      expect((await localIndex(folder)).size).toBe(1);
    }));
});
