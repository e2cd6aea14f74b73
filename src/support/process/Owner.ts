/**
 * Identifies the process that owns a file, and tells it apart from a later process with the same number. Invariant: an owner
 * counts as ended only if this process can see that.
 */
import { randomUUID } from "node:crypto";
import { readFile, readlink } from "node:fs/promises";
import { hostname } from "node:os";
import { Schema } from "effect";

/** Fields that the system does not report are null. */
const Owner = Schema.Struct({
  id: Schema.String,
  pid: Schema.Int.check(Schema.isGreaterThan(0)),
  host: Schema.String,
  /** The time at which the process took what it owns. */
  since: Schema.String,
  /** Id of the system's start. */
  boot: Schema.NullOr(Schema.String),
  /** The process namespace, in which `pid` counts. */
  namespace: Schema.NullOr(Schema.String),
  /** Start of the process, in ticks since the system's start. */
  started: Schema.NullOr(Schema.String),
});
export type Owner = typeof Owner.Type;
const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Owner));

const errorCode = (cause: unknown): unknown => (cause instanceof Error && "code" in cause ? cause.code : undefined);

const orNull = <A>(read: Promise<A>): Promise<A | null> => read.catch(() => null);

/** State and start of a process; null if there is no such process, or no /proc. */
const statOf = async (pid: number): Promise<{ readonly state: string; readonly started: string } | null> => {
  const text = await orNull(readFile(`/proc/${pid}/stat`, "utf8"));
  // The name, in parentheses, may contain anything.
  const fields = text?.slice(text.lastIndexOf(")") + 2).split(" ");
  return fields === undefined ? null : { state: fields[0] ?? "", started: fields[19] ?? "" };
};

/** Describes this process as an owner since `since`. */
export const currentOwner = async (since: string): Promise<Owner> => ({
  id: randomUUID(),
  pid: process.pid,
  host: hostname(),
  since,
  boot: (await orNull(readFile("/proc/sys/kernel/random/boot_id", "utf8")))?.trim() ?? null,
  namespace: await orNull(readlink("/proc/self/ns/pid")),
  started: (await statOf(process.pid))?.started ?? null,
});

const differ = (a: string | null, b: string | null): boolean => a !== null && b !== null && a !== b;

const isThere = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (cause) {
    return errorCode(cause) !== "ESRCH";
  }
};

/** The state of an owner as this process sees it; `unseen` for one on another host, or in another container. */
export const ownerStatus = async (owner: Owner, current: Owner): Promise<"running" | "ended" | "unseen"> => {
  if (owner.host !== current.host) return "unseen";
  if (differ(owner.boot, current.boot)) return "ended";
  if (differ(owner.namespace, current.namespace)) return "unseen";
  if (!isThere(owner.pid)) return "ended";
  const now = await statOf(owner.pid);
  if (now === null) return "running";
  // A zombie has ended, but its parent has not noticed.
  return differ(owner.started, now.started) || /[ZX]/.test(now.state) ? "ended" : "running";
};

/** Parses an owner; null if the text describes none. */
export const parseOwner = (text: string): Owner | null => {
  try {
    return decode(text);
  } catch {
    return null;
  }
};
