/** Files of lines that grow, are torn, and are cut back. */
import { appendFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Tail } from "../../../../src/observe/watch/store/Tail.ts";
import { assertProperty } from "../../../property.ts";

let folder = "";
let path = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-test-"));
  path = join(folder, "lines");
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The lines that a follower has, and how often it got each. */
const following = () => {
  let lines: { readonly text: string; readonly offset: number }[] = [];
  let given = 0;
  const tail = new Tail(path, {
    line: (line, offset) => {
      given++;
      lines.push({ text: line.toString("utf8"), offset });
    },
    cut: (offset) => {
      lines = lines.filter((line) => line.offset < offset);
    },
  });
  return { tail, texts: () => lines.map(({ text }) => text), given: () => given };
};

describe("a tail", () => {
  it("gives each line once, and a torn one when it is whole", async () => {
    const { given, tail, texts } = following();
    expect(await tail.advance()).toBe(false);
    writeFileSync(path, "one\ntwo\nthr");
    expect(await tail.advance()).toBe(true);
    expect(texts()).toEqual(["one", "two"]);
    expect(await tail.advance()).toBe(false);
    appendFileSync(path, "ee\n");
    expect(await tail.advance()).toBe(true);
    expect(texts()).toEqual(["one", "two", "three"]);
    expect(given()).toBe(3);
  });

  it("reads a line longer than a stretch", async () => {
    const { tail, texts } = following();
    const long = "x".repeat(3 * 2 ** 20);
    writeFileSync(path, `a\n${long}\nb\n`);
    await tail.advance();
    expect(texts()).toEqual(["a", long, "b"]);
  });

  it("leaves out what it is told to skip, after a cut too", async () => {
    const { tail, texts } = following();
    writeFileSync(path, "one\ntwo\n");
    tail.skipTo(4);
    await tail.advance();
    expect(texts()).toEqual(["two"]);
    writeFileSync(path, "uno\ntwo\nthree\n");
    await tail.advance();
    expect(texts()).toEqual(["two", "three"]);
  });

  it("forgets a file that is removed", async () => {
    const { tail, texts } = following();
    writeFileSync(path, "one\n");
    await tail.advance();
    rmSync(path);
    expect(await tail.advance()).toBe(true);
    expect(texts()).toEqual([]);
  });

  it("has what the file has, however it was cut and grew in between", async () => {
    const change = fc.record({
      keep: fc.integer({ min: 0, max: 100 }),
      add: fc.array(fc.stringMatching(/^[a-z]{0,9}$/)),
    });
    await assertProperty(
      fc.asyncProperty(fc.array(change, { maxLength: 6 }), async (changes) => {
        writeFileSync(path, "");
        const { tail, texts } = following();
        let whole: string[] = [];
        let unique = 0;
        for (const { add, keep } of changes) {
          whole = whole.slice(0, Math.floor((whole.length * keep) / 100));
          truncateSync(path, Buffer.byteLength(whole.map((line) => `${line}\n`).join("")));
          const lines = add.map((line) => `${line}${unique++}`);
          appendFileSync(path, lines.map((line) => `${line}\n`).join(""));
          whole.push(...lines);
          await tail.advance();
          expect(texts()).toEqual(whole);
        }
      }),
    );
  });
});
