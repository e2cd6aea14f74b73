/**
 * A folder with nothing but the published package in it: the tarball that `npm pack` makes, installed as a user would. Commands run there
 * with the user's own Node, so nothing of the checkout's node_modules is on the path.
 */
import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { packageRoot } from "../../src/files/packageRoot.ts";

/** The environment without what `npm run` adds to it. ONNX Runtime's install script would download: a package cannot switch it off for its consumer. */
const environment = (): NodeJS.ProcessEnv => {
  const kept = Object.entries(process.env).filter(([name]) => !/^npm_|^INIT_CWD$|^NODE$/i.test(name));
  const path = (process.env.PATH ?? "").split(delimiter).filter((folder) => !folder.includes("node_modules"));
  return { ...Object.fromEntries(kept), PATH: path.join(delimiter), ONNXRUNTIME_NODE_INSTALL: "skip" };
};

export type Finished = Pick<SpawnSyncReturns<string>, "status" | "stdout" | "stderr">;

export class Consumer implements Disposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), "millrace-consumer-"));

  [Symbol.dispose]() {
    rmSync(this.folder, { recursive: true, force: true });
  }

  run(command: string, ...args: readonly string[]): Finished {
    return this.#spawn(this.folder, command, args);
  }

  /** Like `run`, but a failure throws with what was printed. */
  must(command: string, ...args: readonly string[]): string {
    return this.#checked(this.folder, command, args);
  }

  /** Packs the checkout and installs the tarball, beside whatever is installed already. */
  installPackage() {
    writeFileSync(join(this.folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
    const packed = this.#checked(packageRoot, "npm", ["pack", "--silent", "--pack-destination", this.folder]);
    const tarball = packed.trim().split("\n").at(-1) ?? "";
    this.must("npm", "install", "--no-audit", "--no-fund", "--prefer-offline", `./${tarball}`);
  }

  #checked(folder: string, command: string, args: readonly string[]): string {
    const { status, stderr, stdout } = this.#spawn(folder, command, args);
    if (status === 0) return stdout;
    throw new Error(`${[command, ...args].join(" ")} ended with ${status}:\n${stdout}${stderr}`);
  }

  #spawn(cwd: string, command: string, args: readonly string[]): Finished {
    return spawnSync(command, args, { cwd, env: environment(), encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  }
}
