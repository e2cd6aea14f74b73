/** Measures the resources of this process: time on cores, memory, and the lag of its event loop. */
import { monitorEventLoopDelay } from "node:perf_hooks";

export interface ProcessUsage {
  /** Milliseconds of all threads on a core since the process started. */
  readonly cpuMs: number;
  /** Resident memory, bytes. */
  readonly rssBytes: number;
  readonly heapBytes: number;
  /** Lag of the event loop since the last reading, milliseconds: 99th percentile and maximum. */
  readonly loopLagMs: { readonly p99: number; readonly max: number };
}

const resolutionMs = 10;

/** Reads the usage until it is closed. It has one reader: each reading starts the next interval of the lag. */
export interface UsageMeter extends Disposable {
  readonly read: () => ProcessUsage;
}

export const usageMeter = (): UsageMeter => {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  // The histogram includes the timer's own period, and has no values before its first tick.
  const lag = (nanos: number): number => (Number.isFinite(nanos) ? Math.max(0, nanos / 1e6 - resolutionMs) : 0);
  return {
    read: () => {
      const { user, system } = process.cpuUsage();
      const { heapUsed, rss } = process.memoryUsage();
      const loopLagMs = { p99: lag(delay.percentile(99)), max: delay.count === 0 ? 0 : lag(delay.max) };
      delay.reset();
      return { cpuMs: (user + system) / 1000, rssBytes: rss, heapBytes: heapUsed, loopLagMs };
    },
    [Symbol.dispose]: () => void delay.disable(),
  };
};
