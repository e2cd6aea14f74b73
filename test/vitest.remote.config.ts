/**
 * Tests against real servers: vLLM and SkyRL on the CPU out of Python's packages, nats-server out of Debian's. `test/remote/install.sh` installs
 * what is missing; the tests themselves fetch nothing.
 */
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  test: {
    include: ["test/remote/**/*.remote.ts"],
    pool: "forks",
    maxWorkers: 1,
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
    reporters: ["default"],
  },
});
