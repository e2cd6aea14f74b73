import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

const root = new URL("..", import.meta.url).pathname;

export default defineConfig({
  root,
  // The same entries as in src/support/modules/packageNames.ts and tsconfig.json.
  resolve: {
    // A module that a test writes into a temporary folder has the same copy.
    dedupe: ["effect"],
    alias: [
      { find: /^millrace$/, replacement: `${root}pipelines/main.ts` },
      { find: /^millrace\/env$/, replacement: `${root}src/env/contract/author.ts` },
      { find: /^millrace\/env\/contract$/, replacement: `${root}src/env/validate/main.ts` },
      { find: /^millrace\/env\/mcp$/, replacement: `${root}src/env/mcp/author.ts` },
      { find: /^millrace\/agent$/, replacement: `${root}src/agents/author.ts` },
      { find: /^millrace\/learner$/, replacement: `${root}src/learner/author.ts` },
      { find: /^millrace\/metrics$/, replacement: `${root}src/observe/sinks/main.ts` },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    pool: "forks",
    // Files share the modules of their worker, which takes half the time of the whole suite: a file must leave no state, thread or
    // listener behind.
    isolate: false,
    maxWorkers: 2,
    // Hundreds of threads and processes are started, each of which would compile the same modules again.
    env: { NODE_COMPILE_CACHE: join(tmpdir(), "node-compile-cache") },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ["default"],
  },
});
