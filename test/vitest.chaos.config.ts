/**
 * Runs disturbed on purpose: kills, signals, faulty disks, faulty inputs. Seeded: MILLRACE_CHAOS_SEED picks other moments, MILLRACE_CHAOS_KILLS
 * more kills (60 by default).
 */
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  test: {
    include: ["test/chaos/**/*.chaos.ts"],
    pool: "forks",
    maxWorkers: 1,
    testTimeout: 3_600_000,
    hookTimeout: 60_000,
    reporters: ["default"],
  },
});
