/**
 * The folder of a run's logged replies: a file of records for each window, and the keys of the run file that decided them. Invariant: records
 * are read only by a run whose deciding keys have the same values.
 */
import { access, appendFile, mkdir, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { differingKey, type KeyValues } from "./decidingKeys.ts";
import { decodeAll, type ReplyRecord } from "./ReplyRecord.ts";

/** Version of the records and of the file beside them. */
const SCHEMA = 1;
const KEYS = "keys.json";

/** The file of a window's records. */
export const pathOf = (folder: string, window: number): string =>
  join(folder, `window-${String(window).padStart(6, "0")}.bin`);

const windowIn = (name: string): number | undefined => {
  const digits = /^window-(\d{6,15})\.bin$/.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
};

const isKeyValues = (value: unknown): value is KeyValues =>
  typeof value === "object" && value !== null && Object.values(value).every((each) => typeof each === "string");

/** The keys in the text of the file beside the records; undefined if there are none of this schema. */
const keysIn = (text: string): KeyValues | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || !("schema" in value) || !("keys" in value)) return undefined;
    return value.schema === SCHEMA && isKeyValues(value.keys) ? value.keys : undefined;
  } catch {
    return undefined;
  }
};

/** Windows whose replies were set aside, and why. */
export interface SetAside {
  readonly windows: number;
  readonly reason: string;
}

export interface OpenedFiles {
  readonly files: ReplyFiles;
  readonly setAside: SetAside | null;
}

export class ReplyFiles {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Opens the folder for a run that goes on at window `from`; replies that cannot be used there are removed. Rejects if it cannot be written. */
  static async open(folder: string, keys: KeyValues, from: number): Promise<OpenedFiles> {
    await mkdir(folder, { recursive: true });
    const files = new ReplyFiles(folder);
    const windows = (await files.windows()).filter((window) => window >= from);
    const text = await readFile(join(folder, KEYS), "utf8").catch(() => "");
    const before = keysIn(text);
    const reason = ReplyFiles.#unusable(before, keys, windows, from);
    if (before !== undefined && reason === undefined) return { files, setAside: null };
    await files.removeBefore(Number.POSITIVE_INFINITY);
    await writeFile(join(folder, KEYS), `${JSON.stringify({ schema: SCHEMA, keys })}\n`);
    const isTold = windows.length > 0 && reason !== undefined;
    return { files, setAside: isTold ? { windows: windows.length, reason } : null };
  }

  static #unusable(
    before: KeyValues | undefined,
    keys: KeyValues,
    windows: readonly number[],
    from: number,
  ): string | undefined {
    if (before === undefined) return "their log is of another version";
    const key = differingKey(before, keys);
    if (key !== undefined) return `${key} changed`;
    // Later windows followed from replies to this one that are gone.
    const [first] = windows;
    return first === undefined || first === from ? undefined : `the log lacks those of window ${from}`;
  }

  /** Windows that have a file, ascending. */
  async windows(): Promise<readonly number[]> {
    const names = await readdir(this.#folder);
    return names.flatMap((name) => windowIn(name) ?? []).sort((a, b) => a - b);
  }

  /** Reads the records of a window, and cuts off what a kill left unfinished behind them. */
  async read(window: number): Promise<readonly ReplyRecord[]> {
    const path = this.#path(window);
    const bytes = await readFile(path).catch(() => Buffer.alloc(0));
    const { records, size } = decodeAll(bytes);
    if (size < bytes.length) await truncate(path, size);
    return records;
  }

  append(window: number, records: readonly Uint8Array[]): Promise<void> {
    return appendFile(this.#path(window), Buffer.concat(records));
  }

  /** Removes the files of windows before `window`. */
  async removeBefore(window: number): Promise<void> {
    for (const each of await this.windows()) if (each < window) await rm(this.#path(each), { force: true });
  }

  #path(window: number): string {
    return pathOf(this.#folder, window);
  }
}

/** True if the log in a folder holds replies of the first window: a run without a checkpoint that begins again loses none of them. */
export const reachesStart = (folder: string): Promise<boolean> =>
  access(pathOf(folder, 0)).then(
    () => true,
    () => false,
  );

/** Removes the folder of a run whose replies are not logged any more. */
export const removeFiles = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true });
