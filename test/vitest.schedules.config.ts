/**
 * Schedules of the engine, explored by seeds: MILLRACE_SCHEDULES of them (1000 by default) from MILLRACE_SCHEDULES_SEED on (1 by default).
 */
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  test: {
    include: ["test/schedules/*.schedules.ts"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 3_600_000,
    reporters: ["default"],
  },
});
