/**
 * The property tests on fresh cases, many more than under `npm test`: `npm run test:explore`. The seed is printed;
 * `EXPLORE_SEED=123 npm run test:explore` draws the same cases again. EXPLORE_FACTOR multiplies the runs of every property.
 */
import { randomInt } from "node:crypto";
import { defineConfig } from "vitest/config";
import { readSources } from "./imports.ts";
import base from "./vitest.config.ts";

const seed = process.env.EXPLORE_SEED ?? String(randomInt(2 ** 31));
const factor = process.env.EXPLORE_FACTOR ?? "20";
console.log(`EXPLORE_SEED=${seed} EXPLORE_FACTOR=${factor} draws these cases again`);

export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: readSources("test")
      .filter(({ path, text }) => path.endsWith(".test.ts") && text.includes("assertProperty("))
      .map(({ path }) => path),
    env: { ...base.test?.env, EXPLORE_SEED: seed, EXPLORE_FACTOR: factor },
    testTimeout: 1_800_000,
  },
});
