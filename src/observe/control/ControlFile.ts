/**
 * `control.json` of a run's folder names the socket on which the run takes controls. Only the run's user may read it, and the
 * socket lies in a folder of that user alone.
 */
import { readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { Schema } from "effect";

export const CONTROL = "control.json";

const Address = Schema.Struct({ socket: Schema.String, pid: Schema.Int.check(Schema.isGreaterThan(0)) });
export type Address = typeof Address.Type;
const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Address));

export const pathOf = (folder: string): string => join(folder, CONTROL);

/** The name of a run in messages: `quickstart/20261122-015315`. */
export const runNameOf = (folder: string): string => {
  const path = resolve(folder);
  return `${basename(dirname(path))}/${basename(path)}`;
};

/** Null if the file is missing or damaged. */
export const read = async (folder: string): Promise<Address | null> => {
  try {
    return decode(await readFile(pathOf(folder), "utf8"));
  } catch {
    return null;
  }
};

/** Replaces a file that a killed run left, so that its access rights do not survive. */
export const write = async (folder: string, address: Address): Promise<void> => {
  await rm(pathOf(folder), { force: true });
  await writeFile(pathOf(folder), `${JSON.stringify(address)}\n`, { mode: 0o600, flag: "wx" });
};

/** Removes the file if it still names the socket of `address`. */
export const remove = async (folder: string, { socket }: Address): Promise<void> => {
  if ((await read(folder))?.socket === socket) await rm(pathOf(folder), { force: true });
};
