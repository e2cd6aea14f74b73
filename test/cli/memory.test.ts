/** What a process may use of memory, from the texts the system has it in, and the sentence where that is too little. */
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import { cgroupFiles, cgroupLimit, machineLimit, needOf, processLimits, refusal } from "../../pipelines/memory.ts";
import { resolved } from "../config/configs.ts";

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
      { source: "ulimit -v", bytes: 4_096_000_000, of: "address space" },
      { source: "ulimit -d", bytes: 1_000, of: "memory" },
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

describe("what a run needs at least", () => {
  const { config } = resolved("");

  it("grows with its threads and its weights", () => {
    const need = needOf("train", config, 0, 0);
    const more = { ...config, model: { ...config.model, generator_threads: 9 } };
    expect(needOf("train", more, 0, 0).memory).toBeGreaterThan(need.memory);
    expect(needOf("train", more, 0, 0).threads).toBe(need.threads + 8);
    // One copy in the main thread, one in the generator, four each of actor and critic.
    expect(needOf("train", config, 1_000, 0).memory - need.memory).toBe(10_000);
    expect(needOf("evaluate", config, 1_000, 0).memory - needOf("evaluate", config, 0, 0).memory).toBe(2_000);
  });
});

describe("the sentence", () => {
  const need = { memory: 2 ** 29, addressSpace: 2 ** 35, threads: 4 };

  it("is missing where all is well", () => {
    expect(refusal(need, [{ source: "ulimit -v", bytes: 2 ** 36, of: "address space" }])).toBeNull();
    expect(refusal(need, [])).toBeNull();
  });

  it("names the limit, what sets it, and the need", () => {
    expect(refusal(need, [{ source: "ulimit -v", bytes: 2 ** 32, of: "address space" }])).toBe(
      "memory: ulimit -v allows 4.0 GiB of address space; this run reserves about 32 GiB with its 4 threads; set ulimit -v unlimited",
    );
  });

  it("is about the lowest limit", () => {
    const limits = [2 ** 28, 2 ** 27].map((bytes) => ({ source: `source ${bytes}`, bytes, of: "memory" as const }));
    expect(refusal(need, limits)).toMatch(
      /^memory: source 134217728 allows 0\.1 GiB; this run needs at least 0\.5 GiB; /,
    );
  });
});

describe.skipIf(process.platform !== "linux")("under `ulimit -v`", () => {
  it("a run that would be killed is refused with 2 and one sentence", () => {
    const words = `${process.execPath} ${new URL("../../pipelines/millrace.mjs", import.meta.url).pathname} train --config-name quickstart`;
    const options = { cwd: tmpdir(), encoding: "utf8" } as const;
    const { status, stderr, stdout } = spawnSync("bash", ["-c", `ulimit -v 4000000; exec ${words}`], options);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toMatch(/^memory: ulimit -v allows 3\.8 GiB of address space; this run reserves about .*\n$/);
  });
});
