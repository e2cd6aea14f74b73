/**
 * Tests of the agents' endpoint with real clients out of npm's and Python's packages. `test/clients/install.sh` installs what is missing; the
 * tests themselves fetch nothing.
 */
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  test: {
    include: ["test/clients/**/*.clients.ts"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 240_000,
    hookTimeout: 240_000,
    reporters: ["default"],
  },
});
