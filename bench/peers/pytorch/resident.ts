/** The resident memory of this process, as Linux counts it: what it has, and the most it had since the peak was reset. */
import { readFileSync, writeFileSync } from "node:fs";

const kibibytes = (status: string, key: string): number => Number(new RegExp(`${key}:\\s+(\\d+)`).exec(status)?.[1]);

export const residentMiB = (): { readonly now: number; readonly peak: number } => {
  const status = readFileSync("/proc/self/status", "utf8");
  return { now: kibibytes(status, "VmRSS") / 1024, peak: kibibytes(status, "VmHWM") / 1024 };
};

/** The peak from here on. */
export const resetPeak = (): void => writeFileSync("/proc/self/clear_refs", "5");
