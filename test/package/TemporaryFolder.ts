/** A temporary folder and the commands that run in it, with the user's own Node: nothing of the checkout's node_modules is on the path. */
import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

/** The environment without what `npm run` adds to it. */
const environment = (): NodeJS.ProcessEnv => {
  const kept = Object.entries(process.env).filter(([name]) => !/^npm_|^INIT_CWD$|^NODE$/i.test(name));
  const path = (process.env.PATH ?? "").split(delimiter).filter((folder) => !folder.includes("node_modules"));
  return { ...Object.fromEntries(kept), PATH: path.join(delimiter) };
};

export type Finished = Pick<SpawnSyncReturns<string>, "status" | "stdout" | "stderr">;

export class TemporaryFolder implements Disposable {
  readonly folder: string;
  readonly #environment: NodeJS.ProcessEnv;

  constructor(name: string, variables: NodeJS.ProcessEnv = {}) {
    this.folder = mkdtempSync(join(tmpdir(), `${name}-`));
    this.#environment = { ...environment(), ...variables };
  }

  [Symbol.dispose]() {
    rmSync(this.folder, { recursive: true, force: true });
  }

  run(command: string, ...args: readonly string[]): Finished {
    return this.runIn(this.folder, command, ...args);
  }

  /** Like `run`, but a failure throws with what was printed. */
  must(command: string, ...args: readonly string[]): Finished {
    return this.mustIn(this.folder, command, ...args);
  }

  protected runIn(cwd: string, command: string, ...args: readonly string[]): Finished {
    return spawnSync(command, args, {
      cwd,
      env: this.#environment,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  }

  mustIn(cwd: string, command: string, ...args: readonly string[]): Finished {
    const finished = this.runIn(cwd, command, ...args);
    const { status, stderr, stdout } = finished;
    if (status === 0) return finished;
    throw new Error(`${[command, ...args].join(" ")} ended with ${status}:\n${stdout}${stderr}`);
  }
}
