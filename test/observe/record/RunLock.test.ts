import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect, Exit, Logger, Scope } from "effect";
import { expect } from "vitest";
import * as RunLock from "../../../src/observe/record/RunLock.ts";
import { currentOwner, type Owner } from "../../../src/support/process/Owner.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { collected } from "../../warnings.ts";

const since = "2026-11-22T02:31:00.000Z";
const lockIn = (folder: string) => join(folder, RunLock.LOCK);
const owned = (folder: string, changes: Partial<Owner>) =>
  Effect.promise(async () => {
    const owner = { ...(await currentOwner(since)), ...changes };
    writeFileSync(lockIn(folder), JSON.stringify(owner));
    return owner;
  });
/** The number of a process that has ended. */
const ended = (): number => spawnSync(process.execPath, ["-e", ""]).pid;
const onLinux = process.platform === "linux";

/** Holds the lock for the length of `body`. */
const holding = <A, E>(folder: string, body: Effect.Effect<A, E>) =>
  Effect.scoped(Effect.andThen(RunLock.hold(folder), body));
const names = (folder: string) => Effect.sync(() => readdirSync(folder));

describe("the lock of a run's folder", () => {
  it.live("names its owner while it is held, and is gone after, however that ended", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* temporaryFolder;
        const read = Effect.sync(() => JSON.parse(readFileSync(lockIn(folder), "utf8")));
        expect(yield* holding(folder, read)).toMatchObject({ pid: process.pid, host: hostname() });
        expect(yield* names(folder)).toEqual([]);
        yield* Effect.exit(holding(folder, Effect.fail("broken")));
        expect(yield* names(folder)).toEqual([]);
      }),
    ),
  );

  it.live("is refused while a process holds it, the own one too, and others are free", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const [folder, other] = [yield* temporaryFolder, yield* temporaryFolder];
        yield* RunLock.hold(folder);
        yield* RunLock.hold(other);
        const error = yield* Effect.flip(holding(folder, Effect.void));
        expect(error._tag).toBe("BadInput");
        expect(error.message).toMatch(/: this process writes this run since \d{4}-.*; one run at a time/);
        expect(error.message.startsWith(folder)).toBe(true);
        expect(yield* names(folder)).toEqual([RunLock.LOCK]);
      }),
    ),
  );

  it.live("is refused, naming the owner, where another process lives", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* temporaryFolder;
        yield* owned(folder, { pid: process.ppid, started: null });
        const { message } = yield* Effect.flip(holding(folder, Effect.void));
        expect(message).toContain(`process ${process.ppid} on ${hostname()} writes this run since ${since}`);
      }),
    ),
  );

  const unseen: readonly (readonly [string, Partial<Owner>])[] = [
    ["on another host", { host: "elsewhere", pid: 1 }],
    ...(onLinux ? ([["in another container", { namespace: "pid:[1]", pid: ended() }]] as const) : []),
  ];
  it.live.each(unseen)("is refused, and the file to delete named, where its owner is %s", ([, changes]) =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* temporaryFolder;
        yield* owned(folder, changes);
        const { message } = yield* Effect.flip(holding(folder, Effect.void));
        expect(message).toContain(`delete ${lockIn(folder)} when it is sure to have ended`);
        expect(yield* names(folder)).toEqual([RunLock.LOCK]);
      }),
    ),
  );

  const dead: readonly (readonly [string, Partial<Owner>])[] = [
    ["has ended", { pid: ended() }],
    ...(onLinux
      ? ([
          ["ended, and another has its number", { started: "1" }],
          ["ran before the system was started anew", { boot: "another" }],
        ] as const)
      : []),
  ];
  it.live.each(dead)("is taken over with one line where its owner %s", ([, changes]) =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* temporaryFolder;
        const owner = yield* owned(folder, changes);
        const { layer, lines } = collected();
        yield* holding(folder, names(folder)).pipe(
          Effect.tap((names) => Effect.sync(() => expect(names).toEqual([RunLock.LOCK]))),
          Effect.provide(layer),
        );
        expect(lines).toEqual([
          expect.stringContaining(
            `process ${owner.pid} on ${hostname()}, which wrote this run since ${since}, has ended`,
          ),
        ]);
        expect(yield* names(folder)).toEqual([]);
      }),
    ),
  );

  it.live.each(["", "{", '{"pid":-1}', "\0\0\0\0"])("is replaced where it cannot be read: %j", (text) =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* temporaryFolder;
        writeFileSync(lockIn(folder), text);
        const { layer, lines } = collected();
        yield* Effect.provide(holding(folder, Effect.void), layer);
        expect(lines).toEqual([`${lockIn(folder)} is no lock that can be read, and is replaced`]);
      }),
    ),
  );

  it.live("is taken over by one of many, a claim whose owner was killed in between or not", () =>
    Effect.scoped(
      Effect.gen(function* () {
        for (const claimed of [false, true]) {
          const folder = yield* temporaryFolder;
          yield* owned(folder, { pid: ended() });
          if (claimed) {
            // Leaves the files of a taker that is killed as soon as it has its claim.
            const { createHash } = yield* Effect.promise(() => import("node:crypto"));
            const text = readFileSync(lockIn(folder), "utf8");
            const claim = `${lockIn(folder)}.${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
            writeFileSync(claim, text.replace(since, "2026-11-22T02:32:00.000Z"));
          }
          const scope = yield* Scope.make();
          const exits = yield* Effect.forEach(
            Array.from({ length: 24 }),
            () => Effect.exit(Scope.provide(RunLock.hold(folder), scope)),
            { concurrency: "unbounded" },
          ).pipe(Effect.provide(Logger.layer([])));
          expect(exits.filter(Exit.isSuccess)).toHaveLength(1);
          expect(yield* names(folder)).toEqual([RunLock.LOCK]);
          yield* Scope.close(scope, Exit.void);
          expect(yield* names(folder)).toEqual([]);
        }
      }),
    ),
  );

  it.live("that a user deleted and another took is not removed with its old owner", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* temporaryFolder;
        yield* holding(folder, owned(folder, { id: "another" }));
        expect(yield* names(folder)).toEqual([RunLock.LOCK]);
      }),
    ),
  );

  it.live("is bad input where the folder cannot be written", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(holding("/proc/nowhere", Effect.void));
      expect([error._tag, error.message]).toEqual(["BadInput", expect.stringContaining("/proc/nowhere/lock")]);
    }),
  );
});
