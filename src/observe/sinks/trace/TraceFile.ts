/**
 * A trace on its way to the disk: entries are taken at once and written later. Invariants: the waiting entries and the file are
 * bounded. The file is an array of JSON objects; its closing bracket may be missing, for instance after a kill.
 */
import { type FileHandle, open } from "node:fs/promises";

/** Bytes of a file at most; the rest of the run is not in it. */
const FILE_BYTES = 256 * 2 ** 20;
/** Characters that may wait for the disk. */
const WAITING = 8 * 2 ** 20;

/** Characters that are worth a write of their own. */
const WRITE = 256 * 2 ** 10;

export interface TraceFileOptions {
  /** Bytes of the file, its last entry not counted. */
  readonly limit?: number;
  /** Makes the entry that explains the end of the file, or missing entries. */
  readonly mark: (text: string) => string;
}

export class TraceFile {
  readonly #options: TraceFileOptions;
  readonly #limit: number;
  #file: FileHandle | null = null;
  #waiting: string[] = [];
  #size = 0;
  #written = 0;
  #lost = 0;
  #full = false;

  constructor(options: TraceFileOptions) {
    this.#options = options;
    this.#limit = options.limit ?? FILE_BYTES;
  }

  /** True once the file takes no more entries. */
  get full(): boolean {
    return this.#full;
  }

  add(entries: readonly string[]): void {
    if (this.#full) return;
    for (const entry of entries) {
      if (this.#size + entry.length > WAITING) {
        this.#lost++;
        continue;
      }
      this.#waiting.push(entry);
      this.#size += entry.length + 2;
    }
  }

  async open(path: string): Promise<void> {
    this.#file = await open(path, "wx");
    await this.#file.appendFile("[");
    this.#written = 1;
  }

  /** Writes the waiting entries. */
  async flush(): Promise<void> {
    if (this.#file === null || this.#full || this.#waiting.length === 0) return;
    if (this.#lost > 0) this.#waiting.push(this.#options.mark(`${this.#lost} entries lost: the disk was slower`));
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#size = 0;
    this.#lost = 0;
    const separator = this.#written > 1 ? ",\n" : "\n";
    const text = separator + waiting.join(",\n");
    this.#written += Buffer.byteLength(text);
    if (this.#written > this.#limit) return this.#end(separator);
    await this.#file.appendFile(text);
  }

  /** Writes the waiting entries if they are many. */
  async flushFull(): Promise<void> {
    if (this.#size >= WRITE) await this.flush();
  }

  /** Ends the file without the waiting entries. */
  async #end(separator: string): Promise<void> {
    this.#full = true;
    const size = `${Math.round(this.#limit / 2 ** 20)} MiB`;
    await this.#file?.appendFile(`${separator}${this.#options.mark(`the trace ends here: it has reached ${size}`)}`);
  }

  async close(): Promise<void> {
    await this.flush();
    await this.#file?.appendFile("\n]\n");
    await this.#file?.close();
    this.#file = null;
    this.#full = true;
  }

  /** Drops all entries from now on. */
  abandon(): void {
    this.#full = true;
    this.#waiting = [];
  }
}
