import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type ByteSource,
  CHUNK_BYTES,
  endOfStep,
  findCut,
  truncateAfterStep,
} from "../../../src/support/files/JsonLines.ts";
import { assertProperty } from "../../property.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "json-lines-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const bytesOf = (text: string): ByteSource => {
  const bytes = Buffer.from(text);
  return { size: bytes.length, read: async (at, length) => bytes.subarray(at, at + length) };
};

/** The same by reading everything. */
const endByReadingAll = (text: string, step: number): number => {
  let kept = 0;
  let end = 0;
  for (const line of text.split("\n").slice(0, -1)) {
    end += Buffer.byteLength(line) + 1;
    try {
      const { step: at } = JSON.parse(line);
      if (typeof at === "number" && at <= step) kept = end;
    } catch {
      // Not a record: skipped.
    }
  }
  return kept;
};

/** Records of ascending steps, several of one step allowed, with text of one to four bytes a character. */
const record = fc.record({
  rise: fc.integer({ min: 0, max: 2 }),
  text: fc.string({ unit: fc.constantFrom("a", "é", "箱", "🧊", "\n", '"'), maxLength: 12 }),
});
const damaged = fc.constantFrom("", "{", "null", "12", '{"step":"3"}', "not json, 箱", '{"stop":1}');
const torn = fc.constantFrom("", '{"step":0', '{"step":0}', '{"step":0,"text":"箱');

describe("where a file is cut", () => {
  it("is where reading all of it says, whatever the chunks, lines and characters", () =>
    assertProperty(
      fc.asyncProperty(
        fc.array(fc.oneof({ weight: 4, arbitrary: record }, damaged), { maxLength: 12 }),
        torn,
        fc.integer({ min: -1, max: 14 }),
        fc.integer({ min: 1, max: 40 }),
        async (lines, tail, step, chunkBytes) => {
          let at = 0;
          const written = lines.map((line) => {
            if (typeof line === "string") return line;
            at += line.rise;
            return JSON.stringify({ step: at, text: line.text });
          });
          const text = `${written.map((line) => `${line}\n`).join("")}${tail}`;
          expect(await endOfStep(bytesOf(text), step, chunkBytes)).toBe(endByReadingAll(text, step));
        },
      ),
      { numRuns: 2000 },
    ));

  it("is the same for every chunk size, a character over each border included", async () => {
    const kept = `${JSON.stringify({ step: 1, text: "箱🧊é".repeat(5) })}\n`;
    const text = `${kept}${JSON.stringify({ step: 2, text: "🧊" })}\n{"step":3`;
    for (let chunkBytes = 1; chunkBytes <= Buffer.byteLength(text) + 1; chunkBytes++)
      expect([chunkBytes, await endOfStep(bytesOf(text), 1, chunkBytes)]).toEqual([
        chunkBytes,
        Buffer.byteLength(kept),
      ]);
  });
});

/** A file's bytes, counting what is read of them. */
const counted = (file: FileHandle, size: number): { readonly source: ByteSource; readonly bytesRead: () => number } => {
  let bytesRead = 0;
  const read = async (at: number, length: number): Promise<Buffer> => {
    bytesRead += length;
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, at);
    return buffer;
  };
  return { source: { size, read }, bytesRead: () => bytesRead };
};

describe("a file far larger than its last lines", () => {
  it("is read from the end, as far as the line to keep", async () => {
    const path = join(folder, "metrics.jsonl");
    const tail = Array.from({ length: 2000 }, (_, step) => JSON.stringify({ step, text: "x".repeat(60) }));
    const size = 64 * 2 ** 20;
    const start = size - Buffer.byteLength(`\n${tail.join("\n")}\n`);
    writeFileSync(path, "");
    truncateSync(path, start);
    writeFileSync(path, `\n${tail.join("\n")}\n`, { flag: "a" });
    expect(statSync(path).size).toBe(size);
    const file = await open(path, "r");
    try {
      const { bytesRead, source } = counted(file, size);
      const removed = Buffer.byteLength(`${tail.slice(1000).join("\n")}\n`);
      expect(await endOfStep(source, 999)).toBe(size - removed);
      expect(bytesRead()).toBeLessThan(removed + 2 * CHUNK_BYTES);
    } finally {
      await file.close();
    }
  });
});

describe("keepThrough", () => {
  const keep = async (text: string, step: number): Promise<string> => {
    const path = join(folder, "trajectories.jsonl");
    writeFileSync(path, text);
    await truncateAfterStep(path, step);
    return readFileSync(path, "utf8");
  };

  it("keeps every line of the last step", async () => {
    const kept = '{"step":1}\n{"step":2,"member":0}\n{"step":2,"member":1}\n';
    expect(await keep(`${kept}{"step":3}\n{"step":3}\n`, 2)).toBe(kept);
  });

  it("leaves a whole file as it is", async () => {
    expect(await keep('{"step":1}\n{"step":2}\n', 2)).toBe('{"step":1}\n{"step":2}\n');
  });

  it("drops a torn last line and what cannot be read behind the cut", async () => {
    expect(await keep('{"step":1}\nbroken\n{"step":2', 5)).toBe('{"step":1}\n');
  });

  it("leaves what cannot be read before the cut", async () => {
    expect(await keep('{"step":1}\nbroken\n{"step":2}\n{"step":3}\n', 2)).toBe('{"step":1}\nbroken\n{"step":2}\n');
  });

  it("empties a file with nothing but a torn line, and takes an empty one", async () => {
    expect(await keep('{"step":1', 5)).toBe("");
    expect(await keep("", 5)).toBe("");
  });

  const garbage = () => readFileSync(join(folder, "trajectories.jsonl.garbage"));
  const keepCounted = async (text: string | Buffer, step: number): Promise<number> => {
    const path = join(folder, "trajectories.jsonl");
    writeFileSync(path, text);
    return truncateAfterStep(path, step);
  };

  it("sets aside what it cuts off and is no record, with a count, and cuts records silently", async () => {
    const bad = ["half", "null", "12", '{"stop":1}', "[1,2]"];
    const text = `{"step":1}\n${bad[0]}\n${bad[1]}\n{"step":2}\n\n${bad.slice(2).join("\n")}\n{"step":3}\n{"step":4`;
    expect(await keepCounted(text, 1)).toBe(5);
    expect(garbage().toString()).toBe(`${bad.join("\n")}\n`);
    expect(readFileSync(join(folder, "trajectories.jsonl"), "utf8")).toBe('{"step":1}\n');
  });

  it("sets noise aside byte by byte, behind what was set aside before", async () => {
    const noise = Buffer.from([0, 255, 10, 200, 13, 128, 10, 7]);
    expect(await keepCounted(Buffer.concat([Buffer.from('{"step":1}\n'), noise]), 5)).toBe(3);
    expect(garbage().equals(Buffer.concat([noise, Buffer.from("\n")]))).toBe(true);
    expect(await keepCounted('{"step":1}\nmore\n', 5)).toBe(1);
    expect(garbage().toString("latin1").endsWith("\n\x07\nmore\n")).toBe(true);
  });

  it("leaves no file of garbage where there is none", async () => {
    expect(await keepCounted('{"step":1}\n{"step":2}\n{"step', 1)).toBe(0);
    expect(existsSync(join(folder, "trajectories.jsonl.garbage"))).toBe(false);
  });

  it("takes a line beyond any record's length for garbage, without holding it", async () => {
    const path = join(folder, "trajectories.jsonl");
    const size = 160 * 2 ** 20;
    writeFileSync(path, '{"step":1}\n');
    truncateSync(path, size);
    writeFileSync(path, "\n", { flag: "a" });
    const file = await open(path, "r");
    try {
      const { source } = counted(file, size + 1);
      const { end, garbage } = await findCut(source, 5, 2 ** 24);
      expect([end, garbage]).toEqual([11, [{ start: 11, end: size + 1, lines: 1 }]]);
    } finally {
      await file.close();
    }
  });

  it("does not make a file that is not there", async () => {
    const path = join(folder, "missing.jsonl");
    await truncateAfterStep(path, 1);
    expect(() => statSync(path)).toThrow("ENOENT");
  });
});
