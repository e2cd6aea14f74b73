/**
 * A real vLLM server on the CPU, out of what `test/remote/install.sh` has installed: started over a folder on a free port of this machine, ready
 * once it answers, and ended with its scope.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Effect } from "effect";
import { packageRoot } from "../../../src/support/files/packageRoot.ts";
import { endGroup, freePort } from "../processes.ts";

export interface VllmServer {
  readonly url: string;
  readonly port: number;
  /** Ends it at once, as a machine that is switched off does. */
  readonly kill: () => Promise<void>;
}

export interface VllmOptions {
  readonly folder: string;
  /** File for the server's output. */
  readonly log: string;
  readonly port?: number;
  readonly flags?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

const root = process.env.MILLRACE_REMOTE ?? join(packageRoot, ".remote");
const python = join(root, "vllm/venv/bin/python");

/** As docs/remote.md has them, for a model in float32 on the CPU. */
export const usualFlags = [
  ...["--dtype", "float32", "--enforce-eager", "--max-model-len", "1024", "--max-num-seqs", "16"],
  ...["--logprobs-mode", "processed_logprobs", "--enable-scale-out"],
];
export const loraFlags = ["--enable-lora", "--max-lora-rank", "8", "--max-loras", "2", "--max-cpu-loras", "8"];
export const usualEnvironment = { VLLM_SERVER_DEV_MODE: "1", VLLM_ALLOW_RUNTIME_LORA_UPDATING: "1" };

const answers = async (url: string): Promise<boolean> => {
  try {
    return (await fetch(`${url}/health`)).ok;
  } catch {
    return false;
  }
};

const ready = async (url: string, child: ChildProcess, log: string): Promise<void> => {
  for (let second = 0; second < 600; second++) {
    if (child.exitCode !== null) break;
    if (await answers(url)) return;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  throw new Error(`vLLM did not start:\n${readFileSync(log, "utf8").slice(-4_000)}`);
};

const start = async ({ environment = usualEnvironment, flags = usualFlags, folder, log, port }: VllmOptions) => {
  const chosen = port ?? (await freePort());
  const url = `http://127.0.0.1:${chosen}`;
  const output = openSync(log, "a");
  const address = ["--host", "127.0.0.1", "--port", String(chosen)];
  const child = spawn(
    python,
    ["-m", "vllm.entrypoints.openai.api_server", "--model", folder, "--served-model-name", "m", ...flags, ...address],
    {
      // A group of its own: the engine is a process of the server's.
      detached: true,
      stdio: ["ignore", output, output],
      env: {
        ...process.env,
        VLLM_CPU_KVCACHE_SPACE: "1",
        VLLM_NO_USAGE_STATS: "1",
        HF_HUB_OFFLINE: "1",
        OMP_NUM_THREADS: "1",
        VLLM_CPU_OMP_THREADS_BIND: "nobind",
        ...environment,
      },
    },
  );
  closeSync(output);
  const kill = () => endGroup(child);
  try {
    await ready(url, child, log);
  } catch (error) {
    await kill();
    throw error;
  }
  const server: VllmServer = { url, port: chosen, kill };
  return server;
};

export const vllmServer = (options: VllmOptions) =>
  Effect.acquireRelease(
    Effect.promise(() => start(options)),
    ({ kill }) => Effect.promise(kill),
  );
