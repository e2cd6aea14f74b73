import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { currentOwner, type Owner } from "../../../src/support/process/Owner.ts";
import { makeTemporaryFolder, temporaryFolder as temporary } from "../../../src/support/process/temporaryFolder.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";

/** The number of a process that has ended. */
const ended = (): number => spawnSync(process.execPath, ["-e", ""]).pid;

/** A folder as another process made it. */
const left = async (parent: string, name: string, changes: Partial<Owner>): Promise<string> => {
  const folder = join(parent, name);
  mkdirSync(folder);
  const owner = { ...(await currentOwner("2026-11-22T02:31:00.000Z")), ...changes };
  writeFileSync(join(folder, "owner.json"), JSON.stringify(owner));
  return folder;
};

describe("a temporary folder", () => {
  it.live("is for its user alone, names its process, and goes with its scope", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const parent = yield* temporaryFolder;
        const folder = yield* Effect.scoped(
          Effect.gen(function* () {
            const folder = yield* temporary("test", parent);
            expect(statSync(folder).mode & 0o777).toBe(0o700);
            const owner: unknown = JSON.parse(readFileSync(join(folder, "owner.json"), "utf8"));
            expect(owner).toMatchObject({ pid: process.pid });
            return folder;
          }),
        );
        expect(existsSync(folder)).toBe(false);
      }),
    ),
  );

  it.live("removes those of processes that have ended, and no others", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const parent = yield* temporaryFolder;
        const stay = yield* Effect.promise(async () => {
          await left(parent, "millrace-control-killed", { pid: ended() });
          const stay = [
            await left(parent, "millrace-watch-running", {}),
            await left(parent, "millrace-tune-elsewhere", { pid: ended(), host: "elsewhere" }),
            await left(parent, "somebody-elses", { pid: ended() }),
          ];
          mkdirSync(join(parent, "millrace-unsaid"));
          symlinkSync(stay[2] ?? "", join(parent, "millrace-link"));
          return [...stay, join(parent, "millrace-unsaid"), join(parent, "millrace-link")];
        });
        const folder = yield* Effect.promise(() => makeTemporaryFolder("control", parent));
        expect(
          readdirSync(parent)
            .map((name) => join(parent, name))
            .toSorted(),
        ).toEqual([...stay, folder].toSorted());
        expect(readdirSync(stay[2] ?? "")).toEqual(["owner.json"]);
      }),
    ),
  );
});
