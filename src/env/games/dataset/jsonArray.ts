/** Reads the rows of a `.json` file: one array of objects, read whole. Rows count from 0, as a data frame counts them. */
import { readFile } from "node:fs/promises";
import { DatasetError, type RowReader } from "./RowReader.ts";

export const jsonArray: RowReader = {
  rows: async function* (file, shown) {
    const text = (await readFile(file, "utf8")).replace(/^\uFEFF/, "");
    let value: unknown;
    try {
      value = text.trim() === "" ? [] : JSON.parse(text);
    } catch {
      throw new DatasetError({
        file: shown,
        message: `${shown}: not JSON; a file of one object a line is named .jsonl`,
      });
    }
    if (!Array.isArray(value)) {
      throw new DatasetError({ file: shown, message: `${shown}: expected one array of objects` });
    }
    yield value.map((row: unknown, at) => ({ at, value: row, problem: null }));
  },
  place: (shown, at) => `${shown} row ${at}`,
};
