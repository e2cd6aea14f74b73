/** What this process takes of its machine: time on cores, memory, and how late its event loop answers. */
import { monitorEventLoopDelay } from "node:perf_hooks";

export interface ProcessUsage {
  /** Milliseconds of all threads on a core since the process started. */
  readonly cpuMs: number;
  /** Resident memory, bytes. */
  readonly rssBytes: number;
  readonly heapBytes: number;
  /** How late the event loop answered since the reading before, milliseconds: 99th percentile and worst. */
  readonly loopLagMs: { readonly p99: number; readonly max: number };
}

const resolutionMs = 10;

/** Reads the usage until it is closed. One reader: a reading starts the next interval of the lag. */
export interface UsageMeter extends Disposable {
  readonly read: () => ProcessUsage;
}

export const usageMeter = (): UsageMeter => {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  // The histogram counts the timer's own period, too; before its first tick it has no values.
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
