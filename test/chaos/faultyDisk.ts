/**
 * Preloaded into a process (`node --import`), and so into its threads: a disk that is slow, or is full, or on which the process dies in the
 * middle of its work. `MILLRACE_DISK` holds a `Fault` as JSON. Only operations that change something below `under` count.
 */
import { type FileHandle, default as promises } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { isMainThread, threadName } from "node:worker_threads";

export interface Fault {
  readonly under: string;
  /** Part of the path that it must have, too. */
  readonly only?: string;
  /** Added to each operation, in milliseconds. */
  readonly delayMs?: number;
  /** From each thread's operation of this number on, from 1, the disk is full; of the first write, half is done. */
  readonly fullFrom?: number;
  /** Kills the process at this thread's operation number `at`, from 1; of a write, half is done first. */
  readonly kill?: { readonly thread: string; readonly at: number };
}

const fault: Fault = JSON.parse(process.env.MILLRACE_DISK ?? '{"under":"/nowhere"}');
const thread = isMainThread ? "main" : (threadName ?? "");
const delayMs = fault.delayMs ?? 0;
let operations = 0;

type Operation = (...given: never[]) => Promise<unknown>;

const die = (): never => {
  process.kill(process.pid, "SIGKILL");
  // The signal comes at once; this thread does nothing more until then.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  throw new Error("still here");
};

const before = async (half: () => Promise<unknown>): Promise<void> => {
  operations++;
  if (delayMs > 0) await sleep(delayMs);
  if (operations >= (fault.fullFrom ?? Number.POSITIVE_INFINITY)) {
    if (operations === fault.fullFrom) await half();
    throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
  }
  if (fault.kill === undefined || fault.kill.thread !== thread || fault.kill.at !== operations) return;
  await half();
  die();
};

const nothing = async (): Promise<void> => undefined;
const halfOf = (data: unknown): Uint8Array | null =>
  typeof data === "string" || data instanceof Uint8Array ? Buffer.from(data).subarray(0, data.length >> 1) : null;

/** `owner[name]`, preceded by the fault. */
const wrap = <Owner extends object>(owner: Owner, name: string, counts: (given: readonly unknown[]) => boolean) => {
  const original: unknown = Reflect.get(owner, name);
  if (typeof original !== "function") return;
  const run: Operation = original.bind(owner);
  const wrapped = async (...given: never[]): Promise<unknown> => {
    if (counts(given)) {
      const half = name.startsWith("write") || name === "appendFile" ? halfOf(given.at(-1)) : null;
      await before(half === null ? nothing : () => run(...given.slice(0, -1), half as never));
    }
    return run(...given);
  };
  Reflect.set(owner, name, wrapped);
};

const below = ([path]: readonly unknown[]): boolean =>
  typeof path === "string" && path.startsWith(fault.under) && path.includes(fault.only ?? "");

for (const name of ["writeFile", "appendFile", "rename", "mkdir", "rm", "unlink", "truncate", "copyFile", "link"]) {
  wrap(promises, name, below);
}
const open = promises.open.bind(promises);
const opened = async (...given: Parameters<typeof open>): Promise<FileHandle> => {
  const [path, flags = "r"] = given;
  const writes = below([path]) && flags !== "r";
  if (writes) await before(nothing);
  const handle = await open(...given);
  if (writes)
    for (const name of ["write", "writeFile", "appendFile", "sync", "truncate"]) wrap(handle, name, () => true);
  return handle;
};
Reflect.set(promises, "open", opened);
syncBuiltinESMExports();
