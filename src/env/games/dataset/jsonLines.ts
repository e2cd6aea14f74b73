/**
 * Reads the rows of a `.jsonl` file, one JSON object a line, as a stream. Only a line feed ends a line (JSON text may hold U+2028 as it is);
 * blank lines are skipped. Lines count from 1.
 */
import { createReadStream } from "node:fs";
import type { RawRow, RowReader } from "./RowReader.ts";

const row = (line: string, at: number): RawRow => {
  try {
    return { at, value: JSON.parse(line), problem: null };
  } catch {
    return { at, value: null, problem: "not a line of JSON" };
  }
};

export const jsonLines: RowReader = {
  rows: async function* (file) {
    const decoder = new TextDecoder();
    let rest = "";
    let line = 0;
    const rowsOf = (lines: readonly string[]): readonly RawRow[] =>
      lines.flatMap((text) => {
        line++;
        return text.trim() === "" ? [] : [row(text, line)];
      });
    for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) {
      const lines = (rest + decoder.decode(chunk as Buffer, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      yield rowsOf(lines);
    }
    yield rowsOf([rest + decoder.decode()]);
  },
  place: (shown, at) => `${shown}:${at}`,
};
