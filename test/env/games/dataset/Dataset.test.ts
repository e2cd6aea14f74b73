/** From a file to the rows of each split: what is left out, reported, refused and drawn. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { Result, Schema } from "effect";
import { describe, expect, it } from "vitest";
import { stream } from "../../../../src/domain/Random.ts";
import { contentShare } from "../../../../src/env/games/dataset/contentShare.ts";
import { type DataFiles, dataFiles, filesOf } from "../../../../src/env/games/dataset/DataFiles.ts";
import * as Dataset from "../../../../src/env/games/dataset/Dataset.ts";
import type { RowForm, Source } from "../../../../src/env/games/dataset/Source.ts";
import { fileOf, linesOf } from "./temporary.ts";

const Fields = Schema.Struct({ word: Schema.NonEmptyString, size: Schema.optionalKey(Schema.Finite) });
type Fields = typeof Fields.Type;

/** Keeps words; refuses the number 13 and does not want the number 0. */
const form: RowForm<Fields, string> = {
  schema: Fields,
  row: ({ size, word }) => {
    if (size === 13) return Result.fail("13 brings bad luck");
    return Result.succeed(size === 0 ? null : word);
  },
  key: ({ word }) => word,
};

const columns = { word: { name: "text", required: true }, size: { name: "n", required: false } };

const sourceOf = (path: string, files: Partial<DataFiles> = {}): Source<Fields, string> => ({
  files: { path, val_path: "", val_share: 0, max_rows: 0, ...files },
  columns,
  form,
});

const words = (count: number, prefix = "w"): readonly { readonly text: string }[] =>
  Array.from({ length: count }, (_, n) => ({ text: `${prefix}${n}` }));

const refusal = async (source: Source<Fields, string>): Promise<string> =>
  Dataset.load(source).then(
    () => "loaded",
    (cause: Error) => cause.message,
  );

describe("rows", () => {
  it("are what the form makes of the columns that the source names, in the order of the file", async () => {
    const path = fileOf("a.jsonl", linesOf([{ text: "b", n: 1, other: [] }, { text: "a" }]));
    expect((await Dataset.load(sourceOf(path))).train).toEqual(["b", "a"]);
  });

  it("that cannot be used are left out and told, by count and the first few places", async () => {
    const rows = [{ text: "ok" }, 5, { text: "" }, { txet: "a" }, { text: "b", n: 13 }, { text: "c", n: "1" }];
    const path = fileOf("a.jsonl", `${linesOf(rows)}oops\n`);
    const source = sourceOf(path);
    expect((await Dataset.load(source)).train).toEqual(["ok"]);
    expect(await Dataset.report(source)).toEqual([
      `${path}: 6 of 7 rows cannot be used and are left out: ${path}:2: not an object; ` +
        `${path}:3: word: "": expected a text that is not empty; ${path}:4: no column "text"; columns: txet; …`,
    ]);
  });

  it("carry the form's own reason, and no dots where all are told", async () => {
    const path = fileOf("a.jsonl", linesOf([{ text: "a" }, { text: "b", n: 13 }]));
    expect(await Dataset.report(sourceOf(path))).toEqual([
      `${path}: 1 of 2 rows cannot be used and are left out: ${path}:2: 13 brings bad luck`,
    ]);
  });

  it("that are not wanted are left out without a word", async () => {
    const path = fileOf("a.jsonl", linesOf([{ text: "a", n: 0 }, { text: "b" }]));
    const source = sourceOf(path);
    expect((await Dataset.load(source)).train).toEqual(["b"]);
    expect(await Dataset.report(source)).toEqual([]);
  });

  it("are the first max_rows of the file, good or bad", async () => {
    const path = fileOf("a.jsonl", `oops\n${linesOf(words(9))}`);
    expect((await Dataset.load(sourceOf(path, { max_rows: 3 }))).train).toEqual(["w0", "w1"]);
  });
});

describe("a file is refused in one sentence that names it", () => {
  it("when it is missing, with the nearest data file beside it", async () => {
    const path = fileOf("words.jsonl", linesOf(words(2)));
    const typo = path.replace("words", "wrods");
    expect(await refusal(sourceOf(typo))).toBe(`${typo}: no such file; nearest: ${path}`);
    expect(await Dataset.lacks(sourceOf(typo))).toEqual([`${typo}: no such file; nearest: ${path}`]);
    expect(await Dataset.lacks(sourceOf(path, { val_path: typo }))).toHaveLength(1);
    expect(await Dataset.lacks(sourceOf(path))).toEqual([]);
  });

  it("when it is missing, and no name beside it is like it", async () => {
    const typo = fileOf("words.jsonl", linesOf(words(2))).replace("words", "nope");
    expect(await refusal(sourceOf(typo))).toBe(`${typo}: no such file`);
  });

  it("when it is a folder, or of no format that is known", async () => {
    const folder = `${dirname(fileOf("a.jsonl", ""))}/b.jsonl`;
    mkdirSync(folder);
    expect(await refusal(sourceOf(folder))).toBe(`${folder}: a folder, not a data file`);
    expect(await refusal(sourceOf("words.csv"))).toBe("words.csv: expected a data file named .jsonl, .json, .parquet");
  });

  it("when it is empty", async () => {
    const path = fileOf("a.jsonl", "\n\n");
    expect(await refusal(sourceOf(path))).toBe(`${path}: holds no rows`);
    const table = fileURLToPath(new URL("./fixtures/empty.parquet", import.meta.url));
    const named = { word: { name: "query", required: true } };
    expect(await refusal({ ...sourceOf(table), columns: named })).toBe(`${table}: holds no rows`);
  });

  it("when no row can be used", async () => {
    const path = fileOf("a.jsonl", linesOf([{ word: "a" }, 1]));
    expect(await refusal(sourceOf(path))).toBe(
      `${path}: none of its 2 rows can be used; ${path}:1: no column "text"; columns: word; ${path}:2: not an object`,
    );
  });

  it("when a share leaves one side empty", async () => {
    const path = fileOf("a.jsonl", linesOf(words(1)));
    expect(await refusal(sourceOf(path, { val_share: 1e-9 }))).toBe(
      `${path}: a val_share of 1e-9 leaves none of its 1 rows for validation`,
    );
  });
});

describe("loading", () => {
  it("reads a file once for all who ask for it in the same way", async () => {
    const path = fileOf("a.jsonl", linesOf(words(3)));
    const [one, other] = await Promise.all([Dataset.load(sourceOf(path)), Dataset.load(sourceOf(path))]);
    expect(other).toBe(one);
    rmSync(path);
    expect(await Dataset.load(sourceOf(path))).toBe(one);
    expect(Dataset.loadedRows(sourceOf(path))).toBe(one);
    expect(await Dataset.report(sourceOf(path))).toEqual([]);
  });

  it("tells apart sources of other columns, files or forms", async () => {
    const path = fileOf("a.jsonl", linesOf([{ text: "a", other: "b" }]));
    const source = sourceOf(path);
    const renamed = { ...source, columns: { ...columns, word: { name: "other", required: true } } };
    const doubled = { ...source, form: { ...form, row: ({ word }: Fields) => Result.succeed(word + word) } };
    const loaded = await Promise.all([source, renamed, doubled].map(Dataset.load));
    expect(loaded.map(({ train }) => train)).toEqual([["a"], ["b"], ["aa"]]);
  });

  it("tries again after it failed", async () => {
    const path = fileOf("a.jsonl", "");
    const source = sourceOf(path);
    expect(await refusal(source)).toContain("holds no rows");
    writeFileSync(path, linesOf(words(1)));
    expect((await Dataset.load(source)).train).toEqual(["w0"]);
  });

  it("comes before the first draw", () => {
    expect(() => Dataset.loadedRows(sourceOf("never.jsonl"))).toThrow(
      "never.jsonl is not loaded: prepare comes before reset",
    );
  });
});

describe("the split", () => {
  it("puts about the share aside, by content: disjoint, and equal content on one side", async () => {
    const twice = [...words(1000), ...words(1000)];
    const path = fileOf("a.jsonl", linesOf(twice));
    const { train, val } = await Dataset.load(sourceOf(path, { val_share: 0.2 }));
    expect(val.length / twice.length).toBeCloseTo(0.2, 1);
    expect(train.length + val.length).toBe(twice.length);
    expect(train.filter((word) => val.includes(word))).toEqual([]);
    expect(new Set(val).size * 2).toBe(val.length);
  });

  it("is kept by a row when others are added before it", async () => {
    const some = fileOf("a.jsonl", linesOf(words(200)));
    const more = fileOf("a.jsonl", linesOf([...words(50, "new"), ...words(200)]));
    const { val } = await Dataset.load(sourceOf(some, { val_share: 0.3 }));
    const { val: later } = await Dataset.load(sourceOf(more, { val_share: 0.3 }));
    expect(later.filter((word) => word.startsWith("w"))).toEqual(val);
  });

  it("may be a file of its own, whose content is then left out of training", async () => {
    const path = fileOf("a.jsonl", linesOf(words(5)));
    const val_path = fileOf("b.jsonl", linesOf([{ text: "w3" }, { text: "v" }]));
    const { train, val } = await Dataset.load(sourceOf(path, { val_path, val_share: 0.5 }));
    expect(train).toEqual(["w0", "w1", "w2", "w4"]);
    expect(val).toEqual(["w3", "v"]);
    expect(await refusal(sourceOf(path, { val_path: path }))).toBe(`${path}: each of its rows stands in ${path} too`);
  });

  it("is none with a share of zero: both draw from all rows", async () => {
    const path = fileOf("a.jsonl", linesOf(words(5)));
    const { train, val } = await Dataset.load(sourceOf(path));
    expect(val).toEqual(train);
  });

  it("hashes as SHA-256 does, so that another program can tell the sides", () => {
    // python3 -c "import hashlib; print(int.from_bytes(hashlib.sha256(b'abc').digest()[:4], 'big') / 2**32)"
    expect(contentShare("abc")).toBe(0.728394910460338);
  });
});

describe("a draw", () => {
  it("is uniform over its split and a function of the stream", async () => {
    const path = fileOf("a.jsonl", linesOf(words(4)));
    const source = sourceOf(path);
    await Dataset.load(source);
    const drawn = (seed: number) => Dataset.draw(source, "train", stream({ seed, purpose: "instance", counters: [] }));
    const counts = new Map<string, number>();
    for (let seed = 0; seed < 2000; seed++) counts.set(drawn(seed), (counts.get(drawn(seed)) ?? 0) + 1);
    expect([...counts.keys()].sort()).toEqual(["w0", "w1", "w2", "w3"]);
    for (const count of counts.values()) expect(Math.abs(count - 500)).toBeLessThan(80);
  });
});

describe("the keys", () => {
  it("default to the environment's own file and a tenth for validation", () => {
    const config = Schema.decodeUnknownSync(Schema.Struct({ ...dataFiles("a.jsonl") }))({});
    expect(filesOf(config)).toEqual({ path: "a.jsonl", val_path: "", val_share: 0.1, max_rows: 0 });
  });
});
