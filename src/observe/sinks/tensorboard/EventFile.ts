/**
 * An event file of TensorBoard: each record has a length, its checksum, the event and its checksum. Invariant: a record goes to
 * the system in one write, so that a killed run leaves at most one torn record, at the end.
 */
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { crc32c, masked } from "./Crc32c.ts";

const HEAD_BYTES = 12;
const TAIL_BYTES = 4;

/** One record of a TFRecord file. */
export const frameRecord = (event: Uint8Array): Uint8Array => {
  const record = new Uint8Array(HEAD_BYTES + event.length + TAIL_BYTES);
  const view = new DataView(record.buffer);
  view.setBigUint64(0, BigInt(event.length), true);
  view.setUint32(8, masked(crc32c(record.subarray(0, 8))), true);
  record.set(event, HEAD_BYTES);
  view.setUint32(HEAD_BYTES + event.length, masked(crc32c(event)), true);
  return record;
};

export interface EventFile {
  readonly append: (...events: readonly Uint8Array[]) => Promise<void>;
  readonly close: () => Promise<void>;
}

const isNameTaken = (cause: unknown): boolean => cause instanceof Error && "code" in cause && cause.code === "EEXIST";

/**
 * Makes the file of a start at `seconds` since the Unix epoch. Readers take the files of a folder in the order of their names,
 * which is that of their starts.
 */
const create = async (folder: string, seconds: number): Promise<FileHandle> => {
  for (let n = 0; ; n++) {
    const name = `events.out.tfevents.${seconds}.${hostname()}.${process.pid}.${n}`;
    try {
      return await open(join(folder, name), "ax");
    } catch (cause) {
      if (!isNameTaken(cause)) throw cause;
    }
  }
};

/** Makes a file in `folder`, and the folder if it is missing. */
export const make = async (folder: string, seconds: number): Promise<EventFile> => {
  await mkdir(folder, { recursive: true });
  const file = await create(folder, seconds);
  return {
    append: (...events) => file.appendFile(Buffer.concat(events.map(frameRecord))),
    close: () => file.close(),
  };
};
