/** The token of a page that was given none: made at random, and kept in a file that the user alone can read. */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Effect } from "effect";
import { temporaryFolder } from "../../../support/process/temporaryFolder.ts";

/** 256 bits. */
export const makeToken = (): string => randomBytes(32).toString("base64url");

/** A file with the token, for the user alone, while the scope lives. */
export const writeTokenFile = Effect.fnUntraced(function* (token: string) {
  const path = join(yield* temporaryFolder("watch"), "token");
  yield* Effect.promise(() => writeFile(path, `${token}\n`, { mode: 0o600, flag: "wx" }));
  return path;
});
