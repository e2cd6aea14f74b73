/** What a run needs of memory at least, and the sentence where a limit is below it. */
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import { needOf, refusal } from "../../pipelines/memory.ts";
import { resolved } from "../config/configs.ts";

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
    expect(refusal(need, [{ source: "ulimit -v", bytes: 2 ** 36, resource: "address space" }])).toBeNull();
    expect(refusal(need, [])).toBeNull();
  });

  it("names the limit, what sets it, and the need", () => {
    expect(refusal(need, [{ source: "ulimit -v", bytes: 2 ** 32, resource: "address space" }])).toBe(
      "memory: ulimit -v allows 4.0 GiB of address space; this run reserves about 32 GiB with its 4 threads; set ulimit -v unlimited",
    );
  });

  it("is about the lowest limit", () => {
    const limits = [2 ** 28, 2 ** 27].map((bytes) => ({
      source: `source ${bytes}`,
      bytes,
      resource: "memory" as const,
    }));
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
