/** Reads the commands of docs/remote.md, for tests that run them as written. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Effect } from "effect";
import { packageRoot } from "../../src/support/files/packageRoot.ts";
import { endGroup } from "./processes.ts";

const text = readFileSync(join(packageRoot, "docs", "remote.md"), "utf8");

/** The body of the block behind a fence such as "sh name=vllm-serve". Throws if the document has none. */
export const block = (fence: string): string => {
  const found = new RegExp(`\`\`\`${fence}\\n([\\s\\S]*?)\`\`\``).exec(text)?.[1];
  if (found === undefined) throw new Error(`docs/remote.md has no block of ${fence}`);
  return found;
};

/** The step records of a run's folder. */
export const stepsOf = (run: string): readonly Readonly<Record<string, number>>[] =>
  readFileSync(join(run, "metrics.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

/** The virtual environment that test/remote/install.sh has made of a server. */
export const venvOf = (server: "skyrl" | "vllm"): string =>
  resolve(process.env.MILLRACE_REMOTE ?? join(packageRoot, ".remote"), server, "venv");

/** The environment of SkyRL's block. */
export const skyrlEnvironment = (model: string, port: number): NodeJS.ProcessEnv => {
  const venv = venvOf("skyrl");
  return {
    ...process.env,
    PATH: `${join(venv, "bin")}:${process.env.PATH}`,
    VIRTUAL_ENV: venv,
    MODEL: model,
    PORT: String(port),
    UV_OFFLINE: "1",
    HF_HUB_OFFLINE: "1",
    JAX_PLATFORMS: "cpu",
    // Servers of one model compile the same programs.
    JAX_COMPILATION_CACHE_DIR: join(venv, "..", "compiled"),
    JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS: "0",
    JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES: "-1",
  };
};

/** The environment of vLLM's block, which leaves the machine's other processes their cores. */
export const vllmEnvironment = (model: string): NodeJS.ProcessEnv => ({
  ...process.env,
  PATH: `${join(venvOf("vllm"), "bin")}:${process.env.PATH}`,
  MODEL: model,
  HF_HUB_OFFLINE: "1",
  VLLM_NO_USAGE_STATS: "1",
  OMP_NUM_THREADS: "1",
  VLLM_CPU_OMP_THREADS_BIND: "nobind",
});

export interface Served {
  readonly script: string;
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** Answers once the server is ready. */
  readonly health: string;
}

const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );

/** The server that a block starts, for the scope, once it answers. */
export const served = ({ env, folder, health, script }: Served) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const child = spawn("bash", ["-c", script], { cwd: folder, detached: true, stdio: "ignore", env });
      while (!(await answers(health))) {
        if (child.exitCode !== null) throw new Error(`a server of docs/remote.md ended:\n${script}`);
        await delay(250);
      }
      return child;
    }),
    (child) => Effect.promise(() => endGroup(child)),
  );
