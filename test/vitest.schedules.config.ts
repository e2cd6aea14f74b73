/**
 * Schedules of the engine, explored by seeds: MILLRACE_SCHEDULES of them (1000 by default) from MILLRACE_SCHEDULES_SEED on (1 by default).
 */
import { existsSync } from "node:fs";
import { defineConfig } from "vitest/config";

/** Checkpoints are flushed to the disk, which takes longer than a schedule; a file system in memory does not wait. */
const memory = "/dev/shm";

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  test: {
    include: ["test/schedules/*.schedules.ts"],
    pool: "forks",
    maxWorkers: 2,
    env: existsSync(memory) ? { TMPDIR: memory } : {},
    testTimeout: 3_600_000,
    reporters: ["default"],
  },
});
