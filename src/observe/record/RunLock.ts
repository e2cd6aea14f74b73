/**
 * One writer for each run folder: the file `lock` names the process that writes there. Invariant: two processes never hold the
 * lock of one folder. A lock is written under another name and linked to its own, which fails if one exists. To replace a lock
 * whose owner has ended, a process first locks a claim, named after the hash of the lock's text. It then replaces the lock if its
 * text is unchanged, so one of several takers wins. A claim whose owner was killed is taken over in the same way.
 */
import { createHash, randomUUID } from "node:crypto";
import { link, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { DateTime, Effect, type Scope } from "effect";
import { BadInput } from "../../domain/Errors.ts";
import { readRange, withFile } from "../../support/files/regularFile.ts";
import { currentOwner, type Owner, ownerStatus, parseOwner } from "../../support/process/Owner.ts";

export const LOCK = "lock";
/** The bytes of a lock that are read. A file that another program wrote may have any size. */
const LONGEST_LOCK = 4_096;

const errorCode = (cause: unknown): unknown => (cause instanceof Error && "code" in cause ? cause.code : undefined);

const readIfPresent = (path: string): Promise<string | null> =>
  readFile(path, "utf8").catch((cause: unknown) => {
    if (errorCode(cause) === "ENOENT") return null;
    throw cause;
  });

/** The state of the process that writes to a run's folder; null if none does, or if its lock cannot be read. */
export const writerStatus = async (folder: string): Promise<"running" | "ended" | "unseen" | null> => {
  const text = await withFile(join(folder, LOCK), async (file) =>
    (await readRange(file, 0, LONGEST_LOCK)).toString("utf8"),
  );
  const owner = parseOwner(text ?? "");
  return owner === null ? null : ownerStatus(owner, await currentOwner(owner.since));
};

/** True if a process still writes to a run's folder, as far as this machine can tell. */
export const hasWriter = async (folder: string): Promise<boolean> => {
  const holder = await writerStatus(folder);
  return holder === "running" || holder === "unseen";
};

const partialOf = (path: string): string => `${path}.${randomUUID()}.partial`;

/** Creates the file with its whole text at once; false if it exists. */
const createWhole = async (path: string, text: string): Promise<boolean> => {
  const partial = partialOf(path);
  await writeFile(partial, text);
  try {
    await link(partial, path);
    return true;
  } catch (cause) {
    if (errorCode(cause) === "EEXIST") return false;
    // The new holder of the lock has removed this file as a leftover.
    if (errorCode(cause) === "ENOENT") return createWhole(path, text);
    // The file system has no hard links.
    if (!["EPERM", "ENOTSUP", "ENOSYS"].includes(String(errorCode(cause)))) throw cause;
    return await writeFile(path, text, { flag: "wx" }).then(
      () => true,
      (refused: unknown) => {
        if (errorCode(refused) === "EEXIST") return false;
        throw refused;
      },
    );
  } finally {
    await rm(partial, { force: true });
  }
};

type LockResult =
  | { readonly _tag: "Free" }
  /** The owner has ended; null if the text was no lock. */
  | { readonly _tag: "TakenOver"; readonly from: Owner | null }
  | { readonly _tag: "Held"; readonly by: Owner; readonly fate: "running" | "unseen" };

const tryLock = async (path: string, mine: Owner): Promise<LockResult> => {
  const text = `${JSON.stringify(mine)}\n`;
  for (;;) {
    if (await createWhole(path, text)) return { _tag: "Free" };
    const current = await readIfPresent(path);
    if (current === null) continue;
    const owner = parseOwner(current);
    const fate = owner === null ? "ended" : await ownerStatus(owner, mine);
    if (owner !== null && fate !== "ended") return { _tag: "Held", by: owner, fate };
    const claim = `${path}.${createHash("sha256").update(current).digest("hex").slice(0, 16)}`;
    const claimed = await tryLock(claim, mine);
    if (claimed._tag === "Held") return claimed;
    try {
      if ((await readIfPresent(path)) !== current) continue;
      const partial = partialOf(path);
      await writeFile(partial, text);
      await rename(partial, path);
      return { _tag: "TakenOver", from: owner };
    } finally {
      await rm(claim, { force: true });
    }
  }
};

/** Removes files that killed takers left. Takers that still run find the lock held. */
const removeLeftovers = async (path: string): Promise<void> => {
  const left = (await readdir(dirname(path))).filter((name) => name.startsWith(`${basename(path)}.`));
  for (const name of left) await rm(join(dirname(path), name), { force: true });
};

const release = async (path: string, mine: Owner): Promise<void> => {
  const text = await readIfPresent(path);
  if (text !== null && parseOwner(text)?.id === mine.id) await rm(path, { force: true });
};

const refusal = (path: string, { host, pid, since }: Owner, fate: "running" | "unseen"): BadInput => {
  const whose = pid === process.pid && fate === "running" ? "this process" : `process ${pid} on ${host}`;
  const what = `${dirname(path)}: ${whose} writes this run since ${since}`;
  const advice =
    fate === "running"
      ? "one run at a time: wait until it has ended, or stop it"
      : `it cannot be seen from here: delete ${path} when it is sure to have ended`;
  return new BadInput({ message: `${what}; ${advice}` });
};

const takeoverMessage = (path: string, from: Owner | null): string =>
  from === null
    ? `${path} is no lock that can be read, and is replaced`
    : `${path}: process ${from.pid} on ${from.host}, which wrote this run since ${from.since}, has ended; its lock is taken over`;

/** This is not interruptible, so that no write is under way when the lock is released. */
const acquire = async (path: string, mine: Owner): Promise<LockResult> => {
  const result = await tryLock(path, mine);
  if (result._tag !== "Held") await removeLeftovers(path).catch(() => undefined);
  return result;
};

/**
 * Holds the lock of a run's folder while the scope lives. Fails with BadInput that names the owner if another run holds it.
 */
export const hold = (folder: string): Effect.Effect<void, BadInput, Scope.Scope> =>
  Effect.gen(function* () {
    const path = join(folder, LOCK);
    const mine = yield* Effect.promise(async () => currentOwner(DateTime.formatIso(DateTime.nowUnsafe())));
    const result = yield* Effect.acquireRelease(
      Effect.tryPromise({
        try: () => acquire(path, mine),
        catch: (cause) =>
          new BadInput({ message: `cannot lock ${path}: ${cause instanceof Error ? cause.message : String(cause)}` }),
      }),
      () => Effect.promise(() => release(path, mine).catch(() => undefined)),
    );
    if (result._tag === "Held") return yield* refusal(path, result.by, result.fate);
    if (result._tag === "TakenOver") yield* Effect.logWarning(takeoverMessage(path, result.from));
  });
