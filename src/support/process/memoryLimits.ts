/** Memory limits of this process: `ulimit -v`, `ulimit -d`, its control groups, the machine. Where the system does not say, there is none. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface MemoryLimit {
  /** What sets it, as a sentence begins. */
  readonly source: string;
  readonly bytes: number;
  /** Address space is reserved; memory is used. */
  readonly resource: "address space" | "memory";
}

/** A line of /proc/self/limits: the soft limit in bytes, if there is one. */
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

/** The files that may limit the groups in the text of /proc/self/cgroup, those above them included. */
export const cgroupFiles = (text: string): readonly string[] =>
  text.split("\n").flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (path === undefined) return [];
    if (controllers === "") return above(path).map((group) => join("/sys/fs/cgroup", group, "memory.max"));
    if (!controllers?.split(",").includes("memory")) return [];
    return above(path).map((group) => join("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
  });

/** The limit in the text of one of them; "max", and a number near the largest there is, are none. */
export const cgroupLimit = (text: string): MemoryLimit | null => {
  const bytes = /^\d+$/.test(text.trim()) ? Number(text) : Number.POSITIVE_INFINITY;
  return bytes < 2 ** 60 ? { source: "this container (its cgroup)", bytes, resource: "memory" } : null;
};

const kilobytes = (text: string, name: string): number =>
  1024 * Number(new RegExp(`^${name}: +(\\d+) kB`, "m").exec(text.replaceAll("\t", " "))?.[1] ?? 0);

/** What the text of /proc/meminfo gives: memory and swap. */
export const machineLimit = (text: string): MemoryLimit | null => {
  const bytes = kilobytes(text, "MemTotal") + kilobytes(text, "SwapTotal");
  return bytes === 0 ? null : { source: "this machine", bytes, resource: "memory" };
};

/** The text of a file of the system, empty where there is none. */
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

/** Bytes of address space that this process has taken. */
export const mappedBytes = (): number => kilobytes(system("/proc/self/status"), "VmSize");
