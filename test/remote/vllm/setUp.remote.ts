/** The set-up of docs/remote.md for vLLM, executed as it is written: a server, a run file, five updates by a learner here. */
import { execFile, spawn } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "@effect/vitest";
import { Effect } from "effect";
import { packageRoot } from "../../../src/files/packageRoot.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { endGroup } from "../processes.ts";

const section =
  readFileSync(join(packageRoot, "docs", "remote.md"), "utf8")
    .split("\n## ")
    .find((part) => part.startsWith("Generate on vLLM")) ?? "";
const block = (language: string): string => {
  const found = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(section)?.[1];
  if (found === undefined) throw new Error(`docs/remote.md has no block of ${language}`);
  return found;
};

const venv = resolve(process.env.MILLRACE_REMOTE ?? ".remote", "vllm", "venv");
/** The address that the document names. */
const url = "http://127.0.0.1:8000";

/** Where the document's commands run: `millrace` and vLLM's Python are on the path, and the package's config is beside them. */
const place = (folder: string): NodeJS.ProcessEnv => {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const command = join(bin, "millrace");
  writeFileSync(
    command,
    `#!/bin/sh\nexec "${process.execPath}" "${join(packageRoot, "pipelines/millrace.mjs")}" "$@"\n`,
  );
  chmodSync(command, 0o755);
  return {
    ...process.env,
    PATH: `${bin}:${join(venv, "bin")}:${process.env.PATH}`,
    HF_HUB_OFFLINE: "1",
    VLLM_NO_USAGE_STATS: "1",
    OMP_NUM_THREADS: "1",
    VLLM_CPU_OMP_THREADS_BIND: "nobind",
    MODEL: join(packageRoot, "config/models/nano"),
  };
};

const server = (folder: string, env: NodeJS.ProcessEnv) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const child = spawn("bash", ["-c", block("sh name=vllm-serve")], {
        cwd: folder,
        detached: true,
        stdio: "ignore",
        env,
      });
      const answers = () =>
        fetch(`${url}/health`).then(
          ({ ok }) => ok,
          () => false,
        );
      while (!(await answers())) {
        if (child.exitCode !== null) throw new Error("the server of docs/remote.md ended");
        await new Promise((wait) => setTimeout(wait, 500));
      }
      return child;
    }),
    (child) => Effect.promise(() => endGroup(child)),
  );

it.live(
  "docs/remote.md sets vLLM up beside a local learner",
  () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      const env = place(folder);
      yield* server(folder, env);
      writeFileSync(join(folder, "remote.yaml"), block("yaml name=remote.yaml"));
      const training = promisify(execFile)("bash", ["-c", block("sh name=vllm-train")], { cwd: folder, env });
      const { stdout } = yield* Effect.promise(() => training);
      expect(stdout).toContain(`generation by vllm at ${url}: the same seed does not give the same bits`);
      const [name = ""] = readdirSync(join(folder, "runs"));
      const [run = ""] = readdirSync(join(folder, "runs", name));
      const steps: readonly Readonly<Record<string, number>>[] = readFileSync(
        join(folder, "runs", name, run, "metrics.jsonl"),
        "utf8",
      )
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
      const last = steps.at(-1) ?? {};
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
