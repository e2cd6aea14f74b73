/**
 * Measures what a run's sinks cost it. The quickstart runs with metrics.jsonl alone and with all sinks, in turn, so
 * that a slow minute of the machine meets both. The policy hardly moves, so that both runs have the same windows,
 * token for token: each window is compared with itself. The collector, the scraper, the page's server and its browser
 * are processes of their own, on the same cores.
 */
import { type ChildProcess, fork } from "node:child_process";
import { basename, dirname } from "node:path";
import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { Effect, type Scope } from "effect";
import { mean } from "../src/domain/Statistics.ts";
import { servePage } from "../src/observe/watch/process/Page.ts";
import { freePortAbove } from "../src/support/http/freePort.ts";
import { type Bench, type Figure, figureOf } from "./Bench.ts";
import { samplesOf } from "./samples.ts";
import type { Order } from "./sinkListeners.ts";
import { SPANS, spanCosts } from "./spans.ts";
import { type Step, trainingRun } from "./trainingRun.ts";

/** Windows of a run that count, and those before them: caches and compiled code are as they stay. */
const WINDOWS = 12;
const WARM_UP = 4;
/** The weights stay as they are to the last digits that sampling can tell. */
const FROZEN = ["actor.lr=1e-12", "actor.lr_warmup_steps=0", "actor.lr_decay=constant"];
/** The monitor's timer, milliseconds; its delays include it. */
const RESOLUTION = 2;
const SHARE = 0.1;

interface Listeners {
  readonly child: ChildProcess;
  readonly endpoint: string;
}

const tell = ({ child }: Listeners, order: Order): void => void child.send(order);

const listeners = (): Promise<Listeners> =>
  new Promise((resolve) => {
    const child = fork(new URL("./sinkListeners.ts", import.meta.url), { execArgv: [] });
    child.once("message", (port) => resolve({ child, endpoint: `http://127.0.0.1:${port}` }));
  });

/** The sinks and listeners of a run. */
interface Shown {
  readonly overrides: readonly string[];
  readonly scraped: boolean;
  /** With its page open in one browser. */
  readonly page: boolean;
}

const bare: Shown = { overrides: ["metrics.sinks=[jsonl]", "metrics.events=false"], scraped: false, page: false };

const all = (endpoint: string, port: number): Shown => ({
  overrides: [
    "metrics.sinks=[jsonl,wandb,tensorboard,otlp,prometheus]",
    "metrics.events=true",
    `metrics.otlp.endpoint=${endpoint}`,
    `metrics.otlp.trace_groups=${SHARE}`,
    `metrics.prometheus.port=${port}`,
  ],
  scraped: true,
  page: false,
});

const lookedAt = (others: Listeners, folder: string): Effect.Effect<void, unknown, Scope.Scope> =>
  Effect.map(servePage({ folder, port: 0, terminal: false }), ({ url }) => {
    const id = encodeURIComponent(`${basename(dirname(folder))}/${basename(folder)}`);
    tell(others, { listen: `${url}/api/runs/${id}/live` });
  });

interface Cost {
  /** Time of each window that counts, and the tokens sampled for it. */
  readonly windowMs: readonly number[];
  readonly lengths: readonly number[];
  /** CPU time of the training process and of its main thread, a window. */
  readonly cpuMs: number;
  readonly mainMs: number;
  readonly lagMs: number;
}

const windowsOf = (steps: readonly Step[]) => {
  const counted = steps.slice(1 + WARM_UP, 1 + WARM_UP + WINDOWS);
  return {
    windowMs: counted.map((step) => (step["timing_s/step"] ?? Number.NaN) * 1000),
    lengths: counted.map((step) => step["train/response_length"] ?? Number.NaN),
  };
};

const mainCpu = (): number => {
  const { system, user } = process.threadCpuUsage();
  return user + system;
};

const costOf = async (others: Listeners, port: number, { overrides, page, scraped }: Shown): Promise<Cost> => {
  const monitor = monitorEventLoopDelay({ resolution: RESOLUTION });
  let cpu = process.cpuUsage();
  let main = mainCpu();
  let begun = performance.now();
  const steps = await trainingRun({
    overrides: [...FROZEN, ...overrides],
    lasts: { steps: WARM_UP + WINDOWS },
    ...(page ? { beside: (folder: string) => lookedAt(others, folder) } : {}),
    stepped: () => {
      if (scraped) tell(others, { scrape: `http://127.0.0.1:${port}/metrics` });
      cpu = process.cpuUsage();
      main = mainCpu();
      begun = performance.now();
      monitor.enable();
    },
  });
  monitor.disable();
  const { system, user } = process.cpuUsage(cpu);
  const onMain = mainCpu() - main;
  tell(others, { rest: true });
  const times = steps.slice(1).map((step) => (step["timing_s/step"] ?? Number.NaN) * 1000);
  // The last one is under way.
  const windows = (performance.now() - begun) / mean(times);
  return {
    ...windowsOf(steps),
    cpuMs: (user + system) / 1_000 / windows,
    mainMs: onMain / 1_000 / windows,
    lagMs: Math.max(0, monitor.percentile(99) / 1e6 - RESOLUTION),
  };
};

/** One run of each, in turn: a b, b a, a b, … */
const pairsOf = async (count: number, a: () => Promise<Cost>, b: () => Promise<Cost>) => {
  const pairs: { readonly a: Cost; readonly b: Cost }[] = [];
  for (let at = 0; at < count; at++) {
    if (at % 2 === 0) pairs.push({ a: await a(), b: await b() });
    else {
      const second = await b();
      pairs.push({ a: await a(), b: second });
    }
  }
  return pairs;
};

const part = (name: string, count: number, over: (all: Shown) => Shown) => async () => {
  const others = await listeners();
  const port = (await freePortAbove("127.0.0.1", 19_464)) ?? 0;
  const shown = over(all(others.endpoint, port));
  // The first run of a process is slower: it compiles.
  await costOf(others, port, bare);
  const pairs = await pairsOf(
    count,
    () => costOf(others, port, bare),
    () => costOf(others, port, shown),
  );
  others.child.kill();
  // The same work, or the two cannot be compared.
  for (const { a, b } of pairs) {
    if (a.lengths.join() !== b.lengths.join()) throw new Error(`${name}: the runs of a pair had other windows`);
  }
  const ratios = pairs.flatMap(({ a, b }) => a.windowMs.map((bare, i) => bare / b.windowMs[i]!));
  const added = (pick: (cost: Cost) => number) => samplesOf(pairs.map(({ a, b }) => pick(b) - pick(a)));
  const figures: readonly Figure[] = [
    figureOf(`${name}: throughput over that of a bare run`, "", samplesOf(ratios), {
      target: { atLeast: 0.98 },
      note: `quickstart without filter, ${WINDOWS} windows of a frozen policy each, ${count} pairs in turn: median over the windows`,
    }),
    figureOf(
      `${name}: CPU time added to a window`,
      "ms",
      added(({ cpuMs }) => cpuMs),
    ),
    figureOf(
      `${name}: main thread's CPU time added, share of a window`,
      "",
      samplesOf(pairs.map(({ a, b }) => (b.mainMs - a.mainMs) / mean(a.windowMs))),
      { target: { atMost: 0.02 }, note: "what the sinks can cost where the main thread is what is waited for" },
    ),
    figureOf(`${name}: lag, p99`, "ms", samplesOf(pairs.map(({ b }) => b.lagMs)), { target: { atMost: 20 } }),
    figureOf(`${name}: lag of the bare run, p99`, "ms", samplesOf(pairs.map(({ a }) => a.lagMs))),
    figureOf(`${name}: a window of the bare run`, "ms", samplesOf(pairs.flatMap(({ a }) => a.windowMs))),
  ];
  return () => figures;
};

export const bench: Bench = {
  question: "what do all sinks cost a run?",
  parts: [
    async () => {
      const others = await listeners();
      const costs = await spanCosts(others.endpoint, SHARE);
      others.child.kill();
      const note = `${SPANS} spans of a window in which nothing else happens, sent or written`;
      return () => [
        figureOf("spans, untraced: CPU a window", "ms", costs.none, { note }),
        figureOf("spans of all groups to a collector: CPU a window", "ms", costs.all),
        figureOf(`spans of ${SHARE * 100} % of the groups to a collector: CPU a window`, "ms", costs.usual),
        figureOf("spans of all groups to trace.json: CPU a window", "ms", costs.file),
      ];
    },
    part("all sinks", 8, (shown) => shown),
    part("with trace.json", 4, (shown) => ({ ...shown, overrides: [...shown.overrides, "metrics.trace=true"] })),
    part("with the page open", 6, (shown) => ({ ...shown, page: true })),
  ],
};
