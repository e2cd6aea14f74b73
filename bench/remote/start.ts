/**
 * `node bench/remote/start.ts FOLDER`: the model that the four ways of training begin with. A Qwen3 of 0.2 M parameters at random, with heads 32
 * wide and an output matrix of its own, which vLLM and SkyRL load; `millrace sft` then clones a solver of FrozenLake with it.
 */
import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { Effect } from "effect";
import { writeTinyQwen3 } from "../../test/remote/tinyQwen3.ts";

const folder = resolve(process.argv[2] ?? "models/lake");
const random = join(folder, "random");
await Effect.runPromise(writeTinyQwen3(random, { deviation: 0.02 }));
const entry = new URL("../../pipelines/cli.ts", import.meta.url).pathname;
const run = [
  "sft",
  "--config-name",
  "bench/remote/lake.yaml",
  `sft.init=${random}`,
  `sft.output=${join(folder, "start")}`,
  "model.lora.rank=0",
];
process.exit(spawnSync(process.execPath, [entry, ...run, ...process.argv.slice(3)], { stdio: "inherit" }).status ?? 1);
