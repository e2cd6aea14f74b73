/** The command line as a process of its own: run to its end, or started, heard and ended by a test. Each start costs about half a second. */
import { spawn, spawnSync } from "node:child_process";
import { tmpdir } from "node:os";

const root = new URL("../..", import.meta.url).pathname;

/** Runs a command to its end, from a folder that has nothing to do with the package unless another is named. */
export const millrace = (words: readonly string[], cwd = tmpdir(), env: NodeJS.ProcessEnv = process.env) => {
  const command = [`${root}pipelines/millrace.mjs`, ...words];
  const { status, stderr, stdout } = spawnSync(process.execPath, command, { cwd, env, encoding: "utf8" });
  return { status, stderr, stdout };
};

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts a command under these variables; `spoken` is what it has said when its first line is whole. */
export const started = (words: readonly string[], variables: NodeJS.ProcessEnv) => {
  const env = { ...process.env, ...variables };
  const child = spawn(process.execPath, [`${root}pipelines/cli.ts`, ...words], { env });
  let [stdout, stderr] = ["", ""];
  const spoken = new Promise<string>((resolve) =>
    child.stdout.on("data", (data) => {
      stdout += String(data);
      if (stdout.includes("\n")) resolve(stdout);
    }),
  );
  child.stderr.on("data", (data) => {
    stderr += String(data);
  });
  const ended = new Promise<Ended>((resolve) => child.on("exit", (code) => resolve({ code, stdout, stderr })));
  return { child, spoken, ended };
};
