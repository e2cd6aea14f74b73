/**
 * Tests on WebGPU, through SwiftShader where `npm run test:webgpu` finds it (Debian: `apt-get install chromium`) and no GPU is asked for by
 * MILLRACE_WEBGPU=system; `npm test` does not know them by their names.
 */
import { defineConfig } from "vitest/config";
import { adapterEnvironment } from "./webgpu/adapter.ts";

// The loader of libraries reads its path when a process starts: the workers start with what is set here.
Object.assign(process.env, adapterEnvironment());

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  test: {
    include: ["test/webgpu/**/*.webgpu.ts"],
    pool: "forks",
    maxWorkers: 1,
    fileParallelism: false,
    testTimeout: 240_000,
    hookTimeout: 60_000,
    reporters: ["default"],
  },
});
