/** A folder that is removed when the scope closes. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect } from "effect";

export const temporaryFolder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "millrace-"))),
  (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true })),
);
