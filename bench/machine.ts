/** The machine and the commit that a report was made on. */
import { execFileSync } from "node:child_process";
import { availableParallelism, cpus, totalmem } from "node:os";

export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly platform: string;
  readonly node: string;
  readonly commit: string;
  /** True where tracked files differed from the commit. */
  readonly dirty: boolean;
}

const git = (...args: readonly string[]): string =>
  execFileSync("git", args, { cwd: import.meta.dirname, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();

const attempt = (...args: readonly string[]): string | undefined => {
  try {
    return git(...args);
  } catch {
    return undefined;
  }
};

export const machine = (): Machine => ({
  processor: cpus()[0]?.model ?? "unknown",
  cores: availableParallelism(),
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  platform: `${process.platform}-${process.arch}`,
  node: process.version,
  commit: attempt("rev-parse", "--short", "HEAD") ?? "uncommitted",
  dirty: (attempt("status", "--porcelain", "--untracked-files=no", "--", "src", "bench", "pipelines") ?? "") !== "",
});
