/** The set-up of docs/remote.md for vLLM, executed as it is written: a server, a run file, five updates by a learner here. */
import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "@effect/vitest";
import { Effect } from "effect";
import { packageRoot } from "../../../src/support/files/packageRoot.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { block, served, stepsOf, vllmEnvironment } from "../document.ts";

/** The address that the document names. */
const url = "http://127.0.0.1:8000";

/** Folder in which the document's commands run: `millrace` and vLLM's Python are on the path, and the package's config is beside them. */
const place = (folder: string): NodeJS.ProcessEnv => {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const command = join(bin, "millrace");
  writeFileSync(
    command,
    `#!/bin/sh\nexec "${process.execPath}" "${join(packageRoot, "pipelines/millrace.mjs")}" "$@"\n`,
  );
  chmodSync(command, 0o755);
  const env = vllmEnvironment(join(packageRoot, "config/models/nano"));
  return { ...env, PATH: `${bin}:${env.PATH}` };
};

it.live(
  "docs/remote.md sets vLLM up beside a local learner",
  () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      const env = place(folder);
      yield* served({ script: block("sh name=vllm-serve"), folder, env, health: `${url}/health` });
      writeFileSync(join(folder, "remote.yaml"), block("yaml name=remote.yaml"));
      const training = promisify(execFile)("bash", ["-c", block("sh name=vllm-train")], { cwd: folder, env });
      const { stdout } = yield* Effect.promise(() => training);
      expect(stdout).toContain(`generation by vllm at ${url}: the same seed does not give the same bits`);
      const [name = ""] = readdirSync(join(folder, "runs"));
      const [run = ""] = readdirSync(join(folder, "runs", name));
      const last = stepsOf(join(folder, "runs", name, run)).at(-1) ?? {};
      expect(last.step).toBe(5);
      expect(last["weights/version"]).toBeGreaterThan(0);
      expect(last["generation/requests"]).toBeGreaterThan(0);
      expect(last["servers/generator/up"]).toBe(1);
      const parts = ["trained", "filtered", "failed", "dropped", "in_flight"].map(
        (part) => last[`ledger/${part}`] ?? 0,
      );
      expect(last["ledger/admitted"]).toBe(parts.reduce((a, b) => a + b, 0));
    }).pipe(Effect.scoped),
  900_000,
);
