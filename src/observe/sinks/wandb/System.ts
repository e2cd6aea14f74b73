/**
 * The process and its machine as W&B's system metrics: means over the time since the last record, the worst of what is a latency. Pure but for
 * what it remembers between two samples.
 */
import type { Sample } from "../../../flow/Bus.ts";
import { type Item, item } from "./Json.ts";

export interface Machine {
  readonly host: string;
  readonly os: string;
  readonly cpus: number;
  readonly memoryBytes: number;
}

/** Time between two records; samples come more often. */
const PERIOD_MS = 10_000;
const MB = 2 ** 20;

export class System {
  readonly #machine: Machine;
  #last: Sample | null = null;
  #lag = { p99: 0, max: 0 };

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  /** The items of a record, where one is due. The first sample begins the time of the first record. */
  observe(sample: Sample): readonly Item[] | null {
    const { p99, max } = sample.process.loopLagMs;
    this.#lag = { p99: Math.max(this.#lag.p99, p99), max: Math.max(this.#lag.max, max) };
    const last = this.#last;
    if (last === null) {
      this.#last = sample;
      return null;
    }
    const ms = sample.elapsedMs - last.elapsedMs;
    if (ms < PERIOD_MS) return null;
    const items = this.#items(last, sample, ms);
    this.#last = sample;
    this.#lag = { p99: 0, max: 0 };
    return items;
  }

  #items(last: Sample, { process, tokens }: Sample, ms: number): readonly Item[] {
    const { cpus, memoryBytes } = this.#machine;
    const share = (process.cpuMs - last.process.cpuMs) / ms;
    return [
      item("cpu", (100 * share) / cpus),
      item("proc.cpu.cores", share),
      item("proc.memory.rssMB", process.rssBytes / MB),
      item("proc.memory.percent", (100 * process.rssBytes) / memoryBytes),
      item("proc.memory.heapMB", process.heapBytes / MB),
      item("proc.loop_lag.p99_ms", this.#lag.p99),
      item("proc.loop_lag.max_ms", this.#lag.max),
      item("proc.tokens_per_second", ((tokens.generated - last.tokens.generated) * 1000) / ms),
    ];
  }
}
