/**
 * Memory limits of this process: `ulimit -v`, `ulimit -d`, its control groups, the machine. A limit that the system does not
 * report counts as absent.
 */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface MemoryLimit {
  /** The source of the limit, worded as the beginning of a sentence. */
  readonly source: string;
  readonly bytes: number;
  /** Address space is reserved; memory is used. */
  readonly resource: "address space" | "memory";
}

/** The soft limit in a line of /proc/self/limits, bytes; null if there is none. */
const processLimit = (text: string, name: string): number | null => {
  const digits = new RegExp(`^${name} +(\\d+) `, "m").exec(text)?.[1];
  return digits === undefined ? null : Number(digits);
};

/** The limits in the text of /proc/self/limits. */
export const processLimits = (text: string): readonly MemoryLimit[] => {
  const addressSpace = processLimit(text, "Max address space");
  const data = processLimit(text, "Max data size");
  return [
    ...(addressSpace === null
      ? []
      : [{ source: "ulimit -v", bytes: addressSpace, resource: "address space" as const }]),
    ...(data === null ? [] : [{ source: "ulimit -d", bytes: data, resource: "memory" as const }]),
  ];
};

const above = (path: string): readonly string[] => (path === "/" ? ["/"] : [path, ...above(dirname(path))]);

/** The files that may limit the control groups in the text of /proc/self/cgroup, including the groups above them. */
export const cgroupFiles = (text: string): readonly string[] =>
  text.split("\n").flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (path === undefined) return [];
    if (controllers === "") return above(path).map((group) => join("/sys/fs/cgroup", group, "memory.max"));
    if (!controllers?.split(",").includes("memory")) return [];
    return above(path).map((group) => join("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
  });

/** The limit in the text of one of these files. "max" is no limit, nor is a number near the largest possible one. */
export const cgroupLimit = (text: string): MemoryLimit | null => {
  const bytes = /^\d+$/.test(text.trim()) ? Number(text) : Number.POSITIVE_INFINITY;
  return bytes < 2 ** 60 ? { source: "this container (its cgroup)", bytes, resource: "memory" } : null;
};

const kilobytes = (text: string, name: string): number =>
  1024 * Number(new RegExp(`^${name}: +(\\d+) kB`, "m").exec(text.replaceAll("\t", " "))?.[1] ?? 0);

/** The memory and swap in the text of /proc/meminfo. */
export const machineLimit = (text: string): MemoryLimit | null => {
  const bytes = kilobytes(text, "MemTotal") + kilobytes(text, "SwapTotal");
  return bytes === 0 ? null : { source: "this machine", bytes, resource: "memory" };
};

/** The text of a system file; empty if it is missing. */
const system = (file: string): string => {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
};

/** The limits of this process. */
export const currentLimits = (): readonly MemoryLimit[] => {
  const groups = cgroupFiles(system("/proc/self/cgroup"));
  const found = [...groups.map((file) => cgroupLimit(system(file))), machineLimit(system("/proc/meminfo"))];
  return [...processLimits(system("/proc/self/limits")), ...found.filter((limit) => limit !== null)];
};

/** Bytes of address space that this process has mapped. */
export const mappedBytes = (): number => kilobytes(system("/proc/self/status"), "VmSize");
