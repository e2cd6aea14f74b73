/** The rows of each file format. */
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { jsonArray } from "../../../../src/env/games/dataset/jsonArray.ts";
import { jsonLines } from "../../../../src/env/games/dataset/jsonLines.ts";
import { parquet } from "../../../../src/env/games/dataset/parquet.ts";
import type { RawRow, RowReader } from "../../../../src/env/games/dataset/RowReader.ts";
import { fileOf } from "./temporary.ts";

const fixture = (name: string): string => fileURLToPath(new URL(`./fixtures/${name}.parquet`, import.meta.url));

const rowsOf = async (reader: RowReader, file: string, ...columns: readonly string[]): Promise<readonly RawRow[]> => {
  const selection = columns.map((name) => ({ name, required: true }));
  const rows: RawRow[] = [];
  for await (const batch of reader.rows(file, "shown", selection)) rows.push(...batch);
  return rows;
};
const valuesOf = async (reader: RowReader, file: string, ...columns: readonly string[]): Promise<readonly unknown[]> =>
  (await rowsOf(reader, file, ...columns)).map(({ value }) => value);

describe("lines of JSON", () => {
  it("count from 1, blank ones included, and a broken one is told as it is", async () => {
    const file = fileOf("a.jsonl", '{"a":1}\r\n\n{"a":\n  \n{"a":2}');
    expect(await rowsOf(jsonLines, file)).toEqual([
      { at: 1, value: { a: 1 }, problem: null },
      { at: 3, value: null, problem: "not a line of JSON" },
      { at: 5, value: { a: 2 }, problem: null },
    ]);
    expect(jsonLines.place("a.jsonl", 3)).toBe("a.jsonl:3");
  });

  it("end only at a line feed, and may begin with a byte order mark", async () => {
    const text = "one\u2028line\u0085of text";
    expect(await valuesOf(jsonLines, fileOf("a.jsonl", `\uFEFF{"a":"${text}"}\n`))).toEqual([{ a: text }]);
  });

  it("survive chunks that end inside a character and inside a line", async () => {
    const rows = Array.from({ length: 300 }, (_, n) => ({ n, text: "größer als √2 😀".repeat(300 + (n % 3)) }));
    const file = fileOf("a.jsonl", rows.map((row) => JSON.stringify(row)).join("\n"));
    expect(await valuesOf(jsonLines, file)).toEqual(rows);
  });

  it("are none in an empty file", async () => {
    expect(await rowsOf(jsonLines, fileOf("a.jsonl", ""))).toEqual([]);
  });
});

describe("a JSON array", () => {
  it("gives its items, counted from 0", async () => {
    const rows = await rowsOf(jsonArray, fileOf("a.json", '[{"a":1}, 2]'));
    expect(rows.map(({ at, value }) => [at, value])).toEqual([
      [0, { a: 1 }],
      [1, 2],
    ]);
  });

  it.each([
    ['{"a":1}\n{"a":2}', "shown: not JSON; a file of one object a line is named .jsonl"],
    ['{"data":[]}', "shown: expected one array of objects"],
  ])("is refused as %j", async (text, message) => {
    await expect(rowsOf(jsonArray, fileOf("a.json", text))).rejects.toThrow(message);
  });
});

describe("parquet", () => {
  it("gives the rows of all row groups in order, with only the columns asked for (snappy)", async () => {
    const rows = await rowsOf(parquet, fixture("metamathqa"), "query");
    expect(rows.map(({ at }) => at)).toEqual(Array.from({ length: 12 }, (_, n) => n));
    expect(rows.map(({ value }) => value)).toEqual(
      Array.from({ length: 12 }, (_, n) => ({ query: `What is ${n} plus ${n + 1}?` })),
    );
    expect(parquet.place("a.parquet", 0)).toBe("a.parquet row 0");
  });

  it("gives lists as arrays and 64-bit integers as numbers (zstd)", async () => {
    expect(await valuesOf(parquet, fixture("mmlu"), "choices", "answer")).toEqual([
      { choices: ["red", "run", "rat", "rob"], answer: 0 },
      { choices: ["one", "on", "won", "own"], answer: 0 },
    ]);
  });

  it("reads gzip", async () => {
    expect(await valuesOf(parquet, fixture("gsm8k"), "question")).toContainEqual({
      question: "How many legs have two hens?",
    });
  });

  it("reads brotli, and a struct that may be null", async () => {
    const [first, second] = (await valuesOf(parquet, fixture("theoremqa"), "Answer", "Picture")) as {
      readonly Answer: string;
      readonly Picture: { readonly path: string } | null;
    }[];
    expect([first!.Answer, first!.Picture!.path]).toEqual(["2", "a.png"]);
    expect([second!.Answer, second!.Picture ?? null]).toEqual(["0.333", null]);
  });

  it("names a missing column and those that are there, the most similar first", async () => {
    await expect(rowsOf(parquet, fixture("metamathqa"), "querry")).rejects.toThrow(
      /^shown: no column "querry"; columns: query, /,
    );
  });

  it("refuses a file that is none", async () => {
    await expect(
      rowsOf(parquet, fileOf("a.parquet", "version https://git-lfs.github.com/spec/v1"), "a"),
    ).rejects.toThrow(/^shown: cannot be read as parquet: /);
  });
});
