/**
 * `node bench/remote/ways.ts [--ways local,vllm,skyrl,pair] [--seeds 0,1] [key.sub=value …]`: trains `lake.yaml` in each way, one after the other,
 * beside servers that it starts as docs/remote.md says (`test/remote/install.sh` installs them), and writes each run's record
 * (`bench/learning/record.ts`). `report.ts` compares them.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Effect } from "effect";
import { block, type Served, served, skyrlEnvironment, vllmEnvironment } from "../../test/remote/document.ts";
import { freePort } from "../../test/remote/processes.ts";
import { train } from "../learning/training.ts";
import { readArguments, refuse } from "../readArguments.ts";

/** The processes that a way starts, and its overrides of the run file. */
interface Way {
  readonly servers: readonly Served[];
  readonly overrides: readonly string[];
}

const model = resolve("models/lake/start");

/** SkyRL trains an adapter of its own, whose rank is the learner's. */
const onSkyrl = (port: number): readonly string[] => [
  "model.lora.rank=0",
  "model.generator.engine=tinker",
  `model.learner={engine: tinker, url: "http://127.0.0.1:${port}", lora: {rank: 8}}`,
];

/** vLLM's block with the flags that its table asks for with adapters. */
const withAdapters = (script: string): string =>
  `export VLLM_ALLOW_RUNTIME_LORA_UPDATING=1\n${script.trimEnd()} --enable-lora --max-lora-rank 8 --max-loras 4`;

const skyrl = (script: string, folder: string, port: number, vllmPort: number): Served => ({
  script: block(script),
  folder,
  env: { ...skyrlEnvironment(model, port), VLLM_PORT: String(vllmPort) },
  health: `http://127.0.0.1:${port}/api/v1/healthz`,
});

const ways: Readonly<Record<string, (folder: string) => Promise<Way>>> = {
  local: async () => ({ servers: [], overrides: [] }),
  vllm: async (folder) => ({
    servers: [
      {
        script: withAdapters(block("sh name=vllm-serve")),
        folder,
        env: vllmEnvironment(model),
        health: "http://127.0.0.1:8000/health",
      },
    ],
    overrides: ["model.generator={engine: vllm, urls: [http://127.0.0.1:8000]}"],
  }),
  skyrl: async (folder) => {
    const port = await freePort();
    return { servers: [skyrl("sh name=server", folder, port, 0)], overrides: onSkyrl(port) };
  },
  pair: async (folder) => {
    const [port, vllmPort] = [await freePort(), await freePort()];
    const vllm = {
      script: block("sh name=pair-vllm"),
      folder,
      env: { ...vllmEnvironment(model), VLLM_PORT: String(vllmPort) },
      health: `http://127.0.0.1:${vllmPort}/health`,
    };
    return {
      servers: [vllm, skyrl("sh name=pair-skyrl", folder, port, vllmPort)],
      overrides: [...onSkyrl(port), "model.learner.sessions=snapshots", "pipeline.mode=async"],
    };
  },
};

const { values, positionals } = readArguments({
  allowPositionals: true,
  options: { ways: { type: "string", default: Object.keys(ways).join(",") }, seeds: { type: "string", default: "0" } },
});

for (const seed of values.seeds.split(",")) {
  for (const name of values.ways.split(",")) {
    const way = ways[name] ?? refuse(`no way is called ${name}; there are ${Object.keys(ways).join(", ")}`);
    const folder = mkdtempSync(join(tmpdir(), "millrace-ways-"));
    const run = Effect.gen(function* () {
      const { overrides, servers } = yield* Effect.promise(() => way(folder));
      yield* Effect.forEach(servers, served, { concurrency: "unbounded", discard: true });
      const words = [`model.path=${model}`, `run.name=lake-${name}`, `run.seed=${seed}`, ...overrides, ...positionals];
      yield* Effect.promise(() => train("bench/remote/lake.yaml", words));
    });
    await Effect.runPromise(Effect.scoped(run));
    rmSync(folder, { recursive: true, force: true });
  }
}
