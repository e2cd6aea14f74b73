/** The benches by name, in the order they run. Each file is loaded only in the process that measures it. */
import type { Bench } from "./Bench.ts";

export const benches = {
  start: () => import("./start.ts"),
  "update-share": () => import("./update-share.ts"),
  "update-parts": () => import("./update-parts.ts"),
  decode: () => import("./decode.ts"),
  sampling: () => import("./sampling.ts"),
  "token-gaps": () => import("./token-gaps.ts"),
  refills: () => import("./refills.ts"),
  "generator-formats": () => import("./generator-formats.ts"),
  runtimes: () => import("./runtimes.ts"),
  "pipeline-efficiency": () => import("./pipeline-efficiency.ts"),
  "bottleneck-bound": () => import("./bottleneck-bound.ts"),
  "stage-overhead": () => import("./stage-overhead.ts"),
  "async-speedup": () => import("./async-speedup.ts"),
  "async-two-cores": () => import("./async-two-cores.ts"),
  "staleness-policies": () => import("./staleness-policies.ts"),
  autotune: () => import("./autotune.ts"),
  "loop-lag": () => import("./loop-lag.ts"),
  "reply-log": () => import("./reply-log.ts"),
  "fixed-lag": () => import("./fixed-lag.ts"),
  "task-sampler": () => import("./task-sampler.ts"),
  sinks: () => import("./sinks.ts"),
  "weight-adoption": () => import("./weight-adoption.ts"),
  "sokoban-rooms": () => import("./sokoban-rooms.ts"),
  hang: () => import("./hang.ts"),
  environments: () => import("./environments.ts"),
  "episodes-in-flight": () => import("./episodes-in-flight.ts"),
  diagnostics: () => import("./diagnostics.ts"),
  workers: () => import("./workers.ts"),
  "server-requests": () => import("./server-requests.ts"),
  "agent-endpoint": () => import("./agent-endpoint.ts"),
  "agent-episodes": () => import("./agent-episodes.ts"),
  "agent-crashes": () => import("./agent-crashes.ts"),
  watch: () => import("./watch.ts"),
} as const satisfies Record<string, () => Promise<{ readonly bench: Bench }>>;

export type BenchName = keyof typeof benches;

export const names = Object.keys(benches).filter((name): name is BenchName => name in benches);
export const isBenchName = (name: string): name is BenchName => names.some((benchName) => benchName === name);
