/** Data files of a test, in a folder of their own that is removed after it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** The path of a new file `name` with that text. */
export const fileOf = (name: string, text: string | Uint8Array): string => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
};

export const linesOf = (rows: readonly unknown[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join("");
