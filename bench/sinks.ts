/**
 * What a run's sinks cost it: the quickstart with none but metrics.jsonl, and with all of them, in turn, so that a slow minute of the machine
 * meets both. The collector, the scraper, the page's server and its browser are processes of their own, on the same cores.
 */
import { type ChildProcess, fork } from "node:child_process";
import { basename, dirname } from "node:path";
import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { Effect, type Scope } from "effect";
import { freePortAbove } from "../src/http/freePort.ts";
import { servePage } from "../src/watch/process/Page.ts";
import { type Bench, type Figure, figureOf } from "./Bench.ts";
import { samplesOf } from "./samples.ts";
import type { Order } from "./sinkListeners.ts";
import { SPANS, spanCosts } from "./spans.ts";
import { pace, trainingRun } from "./trainingRun.ts";

/** Some twenty windows. */
const SECONDS = 30;
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

/** How a run is shown. */
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
  readonly windowMs: number;
  /** Of the training process, a window. */
  readonly cpuMs: number;
  /** Of the main thread, a window. */
  readonly mainMs: number;
  readonly lagMs: number;
}

const costOf = async (others: Listeners, port: number, { overrides, page, scraped }: Shown): Promise<Cost> => {
  const monitor = monitorEventLoopDelay({ resolution: RESOLUTION });
  let cpu = process.cpuUsage();
  let loop = performance.eventLoopUtilization();
  let begun = performance.now();
  const steps = await trainingRun({
    overrides,
    seconds: SECONDS,
    ...(page ? { beside: (folder: string) => lookedAt(others, folder) } : {}),
    stepped: () => {
      if (scraped) tell(others, { scrape: `http://127.0.0.1:${port}/metrics` });
      cpu = process.cpuUsage();
      loop = performance.eventLoopUtilization();
      begun = performance.now();
      monitor.enable();
    },
  });
  monitor.disable();
  const { system, user } = process.cpuUsage(cpu);
  const { active } = performance.eventLoopUtilization(loop);
  tell(others, { rest: true });
  const windowMs = pace(steps);
  const windows = (performance.now() - begun) / windowMs;
  return {
    windowMs,
    cpuMs: (user + system) / 1_000 / windows,
    mainMs: active / windows,
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
  const ratio = (of: (cost: Cost) => number) => samplesOf(pairs.map(({ a, b }) => of(a) / of(b)));
  const added = (of: (cost: Cost) => number) => samplesOf(pairs.map(({ a, b }) => of(b) - of(a)));
  const figures: readonly Figure[] = [
    figureOf(
      `${name}: throughput over that of a bare run`,
      "",
      ratio(({ windowMs }) => windowMs),
      {
        target: { atLeast: 0.98 },
        note: `quickstart without filter, ${SECONDS} s after the first window, pairs in turn`,
      },
    ),
    figureOf(
      `${name}: CPU time added to a window`,
      "ms",
      added(({ cpuMs }) => cpuMs),
    ),
    figureOf(
      `${name}: main thread's time added to a window`,
      "ms",
      added(({ mainMs }) => mainMs),
    ),
    figureOf(`${name}: lag, p99`, "ms", samplesOf(pairs.map(({ b }) => b.lagMs)), { target: { atMost: 20 } }),
    figureOf(`${name}: lag of the bare run, p99`, "ms", samplesOf(pairs.map(({ a }) => a.lagMs))),
    figureOf(`${name}: a window of the bare run`, "ms", samplesOf(pairs.map(({ a }) => a.windowMs))),
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
    part("all sinks", 6, (shown) => shown),
    part("with trace.json", 3, (shown) => ({ ...shown, overrides: [...shown.overrides, "metrics.trace=true"] })),
    part("with the page open", 3, (shown) => ({ ...shown, page: true })),
  ],
};
