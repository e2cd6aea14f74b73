/** Tests of the page in Debian's Chromium (`apt-get install chromium`, or CHROMIUM); `npm test` does not know them by their names. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  test: {
    include: ["test/browser/**/*.browser.ts"],
    pool: "forks",
    maxWorkers: 1,
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ["default"],
  },
});
