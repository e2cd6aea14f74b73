/** The token of a page that was given none: made at random, and kept in a file that the user alone can read. */
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect } from "effect";

/** 256 bits. */
export const makeToken = (): string => randomBytes(32).toString("base64url");

/** A file with the token, for the user alone, while the scope lives. */
export const keptToken = (token: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const folder = await mkdtemp(join(tmpdir(), "millrace-watch-"));
        await chmod(folder, 0o700);
        await writeFile(join(folder, "token"), `${token}\n`, { mode: 0o600, flag: "wx" });
        return folder;
      }),
      (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true })),
    ),
    (folder) => join(folder, "token"),
  );
