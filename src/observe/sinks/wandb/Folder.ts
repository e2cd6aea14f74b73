/**
 * The folder of an offline run as W&B's SDK lays it out: `wandb/offline-run-<date>_<time>-<id>/` with `run-<id>.wandb`, `files/` and `logs/`.
 * A run that was stopped or killed goes on in its folder, under its id. Invariant: entries that are appended together are one write, so
 * that a kill leaves all of them or a torn tail, which the next start cuts off.
 */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, mkdir, open, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ByteSource } from "../../../support/files/JsonLines.ts";
import { frameRecord, HEADER } from "./Blocks.ts";
import { encode } from "./encode.ts";
import { KeptPart, readKeptPart } from "./KeptPart.ts";
import type { WandbEntry } from "./WandbEntry.ts";

const named = /^offline-run-\d{8}_\d{6}-([a-z0-9]+)$/;
const digits = "0123456789abcdefghijklmnopqrstuvwxyz";

/** Eight digits and letters that depend on the run's folder and start. */
const idOf = (folder: string, started: number): string => {
  const bytes = createHash("sha256").update(`${started} ${folder}`).digest();
  return Array.from(bytes.subarray(0, 8), (byte) => digits[byte % digits.length]).join("");
};

/** `20261122_055528`, universal time. */
const stampOf = (ms: number): string =>
  new Date(ms).toISOString().slice(0, 19).replaceAll(/[-:]/g, "").replace("T", "_");

export interface RunPlace {
  readonly path: string;
  readonly id: string;
  /** No run was here before. */
  readonly fresh: boolean;
}

/** The place of the run of `folder`: the newest folder of an earlier start, or a new one named after this start. */
export const placeOf = async (folder: string, started: number): Promise<RunPlace> => {
  const parent = join(folder, "wandb");
  const entries = await readdir(parent).catch(() => []);
  const last = entries
    .filter((name) => named.test(name))
    .toSorted()
    .at(-1);
  const id = last === undefined ? undefined : named.exec(last)?.[1];
  if (last !== undefined && id !== undefined) return { path: join(parent, last), id, fresh: false };
  const newId = idOf(folder, started);
  return { path: join(parent, `offline-run-${stampOf(started)}-${newId}`), id: newId, fresh: true };
};

/** No handle outlives a call: a sink that fails is not closed. */
const withFile = async <A>(path: string, work: (file: FileHandle) => Promise<A>): Promise<A> => {
  const file = await open(path, "r+");
  try {
    return await work(file);
  } finally {
    await file.close();
  }
};

const sourceOf = (path: string, size: number): ByteSource => ({
  size,
  read: (at, length) =>
    withFile(path, async (file) => {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at);
      return buffer.subarray(0, bytesRead);
    }),
});

export class Folder {
  readonly place: RunPlace;
  readonly #path: string;
  #end = 0;
  #number = 0;

  private constructor(place: RunPlace) {
    this.place = place;
    this.#path = join(place.path, `run-${place.id}.wandb`);
  }

  /** Opens or makes the folder, and cuts off the entries after `step`. */
  static async open(place: RunPlace, step: number): Promise<{ readonly folder: Folder; readonly kept: KeptPart }> {
    await mkdir(join(place.path, "files"), { recursive: true });
    await mkdir(join(place.path, "logs"), { recursive: true });
    const folder = new Folder(place);
    // An earlier upload no longer has the whole run.
    await rm(folder.#syncedPath, { force: true });
    await (await open(folder.#path, constants.O_RDWR | constants.O_CREAT)).close();
    const kept = await folder.#cut(step);
    await folder.writeFile("output.log", kept.output.map((line) => `${line}\n`).join(""));
    for (const name of kept.dropped) await rm(join(place.path, "files", name), { force: true });
    const latest = join(dirname(place.path), "latest-run");
    await rm(latest, { force: true });
    // For W&B's terminal viewer; some file systems have no links.
    await symlink(place.path.slice(dirname(place.path).length + 1), latest).catch(() => undefined);
    return { folder, kept };
  }

  async #cut(step: number): Promise<KeptPart> {
    const { size } = await stat(this.#path);
    const source = sourceOf(this.#path, size);
    const whole = size >= HEADER.length && (await source.read(0, HEADER.length)).equals(HEADER);
    const kept = whole ? await readKeptPart(source, step, await this.#sent()) : new KeptPart();
    await withFile(this.#path, async (file) => {
      await file.truncate(kept.end);
      await file.write(HEADER, 0, HEADER.length, 0);
    });
    this.#end = kept.end;
    this.#number = kept.number;
    return kept;
  }

  /** Offset behind what is written. */
  get end(): number {
    return this.#end;
  }

  async append(entries: readonly WandbEntry[]): Promise<void> {
    const parts: Buffer[] = [];
    let end = this.#end;
    entries.forEach((entry, index) => {
      const bytes = frameRecord(encode(entry, this.#number + index + 1), end);
      parts.push(bytes);
      end += bytes.length;
    });
    const bytes = Buffer.concat(parts);
    await withFile(this.#path, async (file) => {
      for (let done = 0; done < bytes.length; ) {
        const { bytesWritten } = await file.write(bytes, done, bytes.length - done, this.#end + done);
        done += bytesWritten;
      }
    });
    this.#end = end;
    this.#number += entries.length;
  }

  /** A file of the run, by its path under `files`. */
  async writeFile(path: string, text: string, flag: "w" | "a" = "w"): Promise<void> {
    const at = join(this.place.path, "files", path);
    if (flag === "w") await mkdir(dirname(at), { recursive: true });
    await writeFile(at, text, { flag });
  }

  readFile(path: string): Promise<Buffer> {
    return readFile(join(this.place.path, "files", path));
  }

  /** The bytes that are written so far. */
  source(): ByteSource {
    return sourceOf(this.#path, this.#end);
  }

  async #sent(): Promise<number> {
    const text = await readFile(this.#sentPath, "utf8").catch(() => "");
    const sent = Number.parseInt(text, 10);
    return Number.isSafeInteger(sent) ? sent : HEADER.length;
  }

  get #sentPath(): string {
    return join(this.place.path, "logs", "sent");
  }

  /** Notes that a server has all before `offset`. */
  noteSent(offset: number): Promise<void> {
    return writeFile(this.#sentPath, `${offset}\n`);
  }

  /** A server has all of it: `wandb sync` passes it over. */
  markSynced(): Promise<void> {
    return writeFile(this.#syncedPath, "");
  }

  get #syncedPath(): string {
    return `${this.#path}.synced`;
  }

  /** The file is on the disk itself. */
  flush(): Promise<void> {
    return withFile(this.#path, (file) => file.datasync());
  }
}
