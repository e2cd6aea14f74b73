/** The random token of a page that was given none, and the file that holds it for the user alone. */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Effect } from "effect";
import { temporaryFolder } from "../../../support/process/temporaryFolder.ts";

/** A random token of 256 bits. */
export const makeToken = (): string => randomBytes(32).toString("base64url");

/** Writes the token to a file that only the user can read, and that lasts as long as the scope. */
export const writeTokenFile = Effect.fnUntraced(function* (token: string) {
  const path = join(yield* temporaryFolder("watch"), "token");
  yield* Effect.promise(() => writeFile(path, `${token}\n`, { mode: 0o600, flag: "wx" }));
  return path;
});
