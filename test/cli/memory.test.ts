/** A run reserves a known amount of address space, and a lower limit is refused with one sentence. */
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import { addressSpaceLine } from "../../pipelines/planLines.ts";
import { addressSpace } from "../../src/tools/planning/AddressSpace.ts";
import { resolved } from "../config/configs.ts";

describe("the address space of a run", () => {
  const { config } = resolved("");

  it("grows with the threads that its pipeline starts", () => {
    const more = { ...config, model: { ...config.model, generator_threads: config.model.generator_threads + 8 } };
    const grown = (pipeline: "train" | "sft" | "evaluate") => {
      const [before, after] = [config, more].map((each) => addressSpace({ pipeline, config: each }));
      return { threads: after!.threads - before!.threads, isMore: after!.bytes > before!.bytes };
    };
    expect(grown("train")).toEqual({ threads: 8, isMore: true });
    expect(grown("evaluate")).toEqual({ threads: 8, isMore: true });
    expect(grown("sft")).toEqual({ threads: 0, isMore: false });
  });

  it("is named with the limit and what sets it", () => {
    const limit = { source: "ulimit -v", bytes: 2 ** 32, resource: "address space" } as const;
    expect(addressSpaceLine(limit, 2 ** 35, 4)).toBe(
      "memory: ulimit -v allows 4.0 GiB of address space; this run reserves about 32.0 GiB with its 4 threads; set ulimit -v unlimited",
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
