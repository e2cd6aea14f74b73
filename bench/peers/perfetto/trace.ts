/**
 * Trains the quickstart for a few steps with the sinks named on the command line (`off` for none), checks the trace, and tells what the run
 * took: `node bench/peers/perfetto/trace.ts FOLDER STEPS off trace off trace,tensorboard,otlp,prometheus …`. Processor time over sampled
 * tokens is what to compare on a shared machine.
 */
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { Effect } from "effect";
import { configDir } from "../../../pipelines/paths.ts";
import { train } from "../../../pipelines/train.ts";
import { load } from "../../../src/config/resolve.ts";
import * as Chosen from "../../../src/observe/sinks/RunSinks.ts";
import * as Stop from "../../../src/support/process/Stop.ts";
import { check } from "../../../test/observe/sinks/trace/checker.ts";

const [folder, steps, ...variants] = process.argv.slice(2);
if (folder === undefined || steps === undefined) throw new Error("usage: trace.ts FOLDER STEPS VARIANT…");
mkdirSync(folder, { recursive: true });

const overrides = [
  `run.dir=${folder}`,
  "run.name=run",
  `trainer.total_training_steps=${steps}`,
  "trainer.val_before_train=false",
  "trainer.test_freq=0",
  "trainer.val_at_end=false",
  "trainer.save_freq=0",
  "metrics.console=off",
];

const run = (variant: string) =>
  Effect.gen(function* () {
    const switches = variant.split(",");
    const config = yield* load("quickstart", overrides, configDir);
    const metrics = {
      ...config.metrics,
      sinks: (["tensorboard", "otlp", "prometheus"] as const).filter((name) => switches.includes(name)),
      prometheus: { host: "127.0.0.1", port: 0 },
      trace: switches.includes("trace"),
    };
    const chosen = yield* Chosen.make({ metrics, run: { name: "run", folder }, variables: {} });
    let path = "";
    const parts = {
      sinks: chosen.sinks,
      onStart: (started: { readonly folder: string }) => {
        path = started.folder;
      },
    };
    const before = { cpu: process.cpuUsage(), at: performance.now(), main: process.threadCpuUsage() };
    yield* Chosen.withTracer(train({ config, resume: null, parts }), chosen).pipe(
      Effect.provide(Stop.layerWithoutSignals),
    );
    const { system, user } = process.cpuUsage(before.cpu);
    const main = process.threadCpuUsage(before.main);
    const lines = readFileSync(join(path, "metrics.jsonl"), "utf8").trim().split("\n");
    const last = JSON.parse(lines.at(-1) ?? "{}");
    const tokens = Number(last["ledger/tokens/admitted"]);
    console.log(
      [
        variant.padEnd(36),
        `${((performance.now() - before.at) / 1000).toFixed(1)} s`,
        `${tokens} tokens`,
        `${((user + system) / tokens).toFixed(2)} us of processor a token`,
        `of it ${((main.user + main.system) / tokens).toFixed(2)} us in the main thread`,
      ].join("  "),
    );
    if (!metrics.trace) return;
    const text = readFileSync(join(path, "trace.json"), "utf8");
    console.log(`  ${(text.length / 2 ** 20).toFixed(1)} MiB`, JSON.stringify(check(text)));
    copyFileSync(join(path, "trace.json"), join(folder, "trace.json"));
  }).pipe(Effect.scoped);

await Effect.runPromise(Effect.forEach(variants, run, { discard: true }));
process.exit(0);
