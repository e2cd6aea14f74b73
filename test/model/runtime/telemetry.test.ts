import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { expect, it } from "@effect/vitest";
import { Effect } from "effect";
import { temporaryFolder } from "../../temporaryFolder.ts";

it.live("a session in a thread keeps no records of onnxruntime's telemetry in the user's folders", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const home = yield* temporaryFolder;
      // onnxruntime keeps none under CI either: the process gets none of the variables of this one but its path.
      const env = { PATH: process.env.PATH, HOME: home, TMPDIR: home };
      const script = join(import.meta.dirname, "sessionProcess.ts");
      const { stdout } = yield* Effect.promise(() => promisify(execFile)(process.execPath, [script], { env }));
      expect(stdout).toBe("42\n");
      expect(readdirSync(home, { recursive: true })).toEqual([]);
    }),
  ),
);
