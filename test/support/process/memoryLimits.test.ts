/** Memory limits of a process, from the texts of the system. */
import { describe, expect, it } from "vitest";
import { cgroupFiles, cgroupLimit, machineLimit, processLimits } from "../../../src/support/process/memoryLimits.ts";

const limitsText = (addressSpace: string, data = "unlimited") =>
  [
    "Limit                     Soft Limit           Hard Limit           Units     ",
    `Max data size             ${data.padEnd(20)} unlimited            bytes     `,
    `Max address space         ${addressSpace.padEnd(20)} unlimited            bytes     `,
    "Max file locks            unlimited            unlimited            locks     ",
  ].join("\n");

describe("the limits of a process", () => {
  it("are those of ulimit, where they are set", () => {
    expect(processLimits(limitsText("unlimited"))).toEqual([]);
    expect(processLimits(limitsText("4096000000", "1000"))).toEqual([
      { source: "ulimit -v", bytes: 4_096_000_000, resource: "address space" },
      { source: "ulimit -d", bytes: 1_000, resource: "memory" },
    ]);
    expect(processLimits("")).toEqual([]);
  });

  it("may be set by its control group, and by those above it", () => {
    expect(cgroupFiles("0::/a/b\n")).toEqual([
      "/sys/fs/cgroup/a/b/memory.max",
      "/sys/fs/cgroup/a/memory.max",
      "/sys/fs/cgroup/memory.max",
    ]);
    expect(cgroupFiles("9:name=systemd:/\n4:cpu,memory:/a\n5:cpu:/b\n")).toEqual([
      "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
      "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ]);
    expect(cgroupFiles("")).toEqual([]);
  });

  it("of a control group are a number, or none", () => {
    expect(cgroupLimit("536870912\n")?.bytes).toBe(2 ** 29);
    expect([cgroupLimit("max\n"), cgroupLimit("9223372036854771712\n"), cgroupLimit("")]).toEqual([null, null, null]);
  });

  it("end with the memory and the swap of the machine", () => {
    const text = "MemTotal:       1000 kB\nMemFree:         10 kB\nSwapTotal:      24 kB\n";
    expect(machineLimit(text)?.bytes).toBe(1024 * 1024);
    expect(machineLimit("")).toBeNull();
  });
});
