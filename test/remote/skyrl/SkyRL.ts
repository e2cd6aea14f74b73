/**
 * SkyRL's Tinker server with its JAX backend on the CPU, as `test/remote/install/skyrl.sh` has installed it, over a tiny model. It runs as long as the
 * scope; its output is kept for a test that fails.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Effect } from "effect";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { skyrlEnvironment, venvOf } from "../document.ts";
import { endGroup, freePort } from "../processes.ts";
import { type TinyOptions, writeTinyQwen3 } from "../tinyQwen3.ts";

export interface SkyRL {
  readonly url: string;
  /** Folder of the base model, and its name at the server. */
  readonly model: string;
  /** Folder of the server's files. */
  readonly folder: string;
}

export interface SkyRLOptions {
  readonly model?: TinyOptions;
  /** Places for adapters; the base model takes one. */
  readonly adapters?: number;
  /** Seconds without a heartbeat after which a session's models are unloaded. */
  readonly sessionTimeout?: number;
}

const started = async (
  model: string,
  folder: string,
  port: number,
  { adapters, sessionTimeout }: Required<Omit<SkyRLOptions, "model">>,
): Promise<ChildProcess> => {
  const backend = {
    max_lora_adapters: adapters,
    max_lora_rank: 8,
    sample_max_num_sequences: 32,
    train_micro_batch_size: 8,
  };
  const options = [
    ...["--base-model", model, "--backend", "jax", "--backend-config", JSON.stringify(backend)],
    ...["--host", "127.0.0.1", "--port", String(port)],
    ...["--database-url", `sqlite:///${join(folder, "skyrl.db")}`, "--checkpoints-base", join(folder, "weights")],
    ...["--session-timeout-sec", String(sessionTimeout), "--session-cleanup-interval-sec", "1"],
  ];
  // The server starts its engine by the flags of the `uv run` that it finds itself under.
  const child = spawn(
    join(venvOf("skyrl"), "bin", "uv"),
    ["run", "--no-project", "--active", "-m", "skyrl.tinker.api", ...options],
    {
      cwd: folder,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: skyrlEnvironment(model, port),
    },
  );
  const log = createWriteStream(join(folder, "skyrl.log"));
  child.stdout?.pipe(log);
  child.stderr?.pipe(log);
  return child;
};

const answers = async (url: string): Promise<boolean> => {
  try {
    return (await fetch(`${url}/api/v1/healthz`)).ok;
  } catch {
    return false;
  }
};

/** The server of the scope, once it answers. */
export const skyrl = ({ adapters = 16, model: modelOptions = {}, sessionTimeout = 300 }: SkyRLOptions = {}) =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder;
    const model = join(folder, "model");
    yield* writeTinyQwen3(model, modelOptions);
    yield* Effect.promise(() => mkdir(join(folder, "weights")));
    const port = yield* Effect.promise(freePort);
    const url = `http://127.0.0.1:${port}`;
    const child = yield* Effect.acquireRelease(
      Effect.promise(() => started(model, folder, port, { adapters, sessionTimeout })),
      (running) => Effect.promise(() => endGroup(running)),
    );
    yield* Effect.promise(async () => {
      while (!(await answers(url))) {
        if (child.exitCode !== null) throw new Error(`SkyRL ended; see ${join(folder, "skyrl.log")}`);
        await delay(250);
      }
    });
    const server: SkyRL = { url, model, folder };
    return server;
  });
