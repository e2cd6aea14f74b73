/**
 * A run is named by its folder, by the folder of a name, or by a step behind either. In place of a model it stands for
 * a checkpoint.
 */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { Effect, Result } from "effect";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { namedModel, namedRun } from "../../pipelines/namedRun.ts";
import { currentOwner } from "../../src/support/process/Owner.ts";
import { problemsIn } from "../problems.ts";

let dir = "";
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "millrace-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** A run below the folder of runs, with files in it beside its configuration. */
const run = (path: string, ...files: readonly string[]): string => {
  const folder = join(dir, path);
  mkdirSync(join(folder, "checkpoints"), { recursive: true });
  for (const file of ["config.yaml", ...files]) writeFileSync(join(folder, file), "{}\n");
  return folder;
};

const checkpoint = (path: string, step: number): string => {
  const folder = join(dir, path, "checkpoints", `step-${step}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "config.json"), "{}");
  return folder;
};

const answered = async (named: Effect.Effect<string, { readonly message: string }>): Promise<string> => {
  const result = await Effect.runPromise(Effect.result(named));
  return (Result.isSuccess(result) ? result.success : result.failure.message).replaceAll(relative(".", dir), "…");
};
const runOf = (...path: readonly string[]) => answered(namedRun("RUN", join(dir, ...path)));
const modelOf = (path: string) => answered(namedModel("model.path", join(dir, path)));
const shown = (path: string): string => JSON.stringify(join(dir, path));

describe("a run is named by", () => {
  it("its folder, whatever else lies beside it", async () => {
    const folder = run("lake/20260101-000000", "metrics.jsonl");
    run("lake/20260102-000000", "metrics.jsonl");
    expect(await runOf("lake/20260101-000000")).toBe(folder);
  });

  it("the folder of its name, where it is the newest, also of one second", async () => {
    run("lake/20260101-000000", "metrics.jsonl");
    run("lake/20260101-000000-2", "metrics.jsonl");
    const newest = run("lake/20260101-000000-10", "metrics.jsonl");
    expect(await runOf("lake")).toBe(newest);
  });

  it("its name, where a later one was killed before it began", async () => {
    const begun = run("lake/20260101-000000", "metrics.jsonl");
    run("lake/20260102-000000", "lock");
    expect(await runOf("lake")).toBe(begun);
  });

  it("its name, while it still loads", async () => {
    run("lake/20260101-000000", "metrics.jsonl");
    const loading = run("lake/20260102-000000");
    writeFileSync(join(loading, "lock"), JSON.stringify(await currentOwner("now")));
    expect(await runOf("lake")).toBe(loading);
  });
});

describe("what names no run, or several", () => {
  it("is refused with the nearest folder", async () => {
    run("lake/20260101-000000");
    expect(await runOf("lakw")).toBe(`RUN: ${shown("lakw")}: no such folder; nearest: ${join(dir, "lake")}`);
    mkdirSync(join(dir, "empty"));
    expect(await runOf("empty")).toBe(
      `RUN: ${shown("empty")}: no run's folder, and no run lies in it: there is no config.yaml`,
    );
  });

  it("is refused with all names, that of the newest run first", async () => {
    run("sweep/a,seed=0/20260102-000000");
    run("sweep/b,seed=0/20260103-000000");
    run("lake/20260101-000000");
    const names = ["sweep/b,seed=0", "sweep/a,seed=0", "lake"].map((name) => join(dir, name));
    const message = await runOf();
    expect(problemsIn(message)).toMatchObject([{ key: "RUN", nearest: names[0] }]);
    const [, all] = message.split("; all: ");
    expect(all?.split(", ").sort()).toEqual(names.sort());
  });
});

describe("where a model is named, a run stands for", () => {
  it("its newest checkpoint, that of a step, or the best", async () => {
    run("lake/20260101-000000");
    const [first, last] = [20, 100].map((step) => checkpoint("lake/20260101-000000", step));
    symlinkSync("step-20", join(dir, "lake/20260101-000000/checkpoints/best"));
    expect(await modelOf("lake")).toBe(last);
    expect(await modelOf("lake/20260101-000000")).toBe(last);
    expect(await modelOf("lake@20")).toBe(first);
    expect(await modelOf("lake@best")).toBe(join(dir, "lake/20260101-000000/checkpoints/best"));
  });

  it("nothing where there is no such checkpoint, with the nearest", async () => {
    const folder = run("lake/20260101-000000");
    expect(await modelOf("lake")).toBe(`model.path: ${shown("lake")}: ${folder} has no checkpoint`);
    for (const step of [20, 100]) checkpoint("lake/20260101-000000", step);
    expect(problemsIn(await modelOf("lake@90"))).toMatchObject([{ key: "model.path", nearest: `${folder}@100` }]);
  });

  it("nothing where a name of its path is misspelt, with the nearest path", async () => {
    checkpoint("cloned", 3);
    const nearest = join(dir, "cloned", "checkpoints");
    expect(problemsIn(await modelOf("clonde/checkpoints"))).toMatchObject([{ key: "model.path", nearest }]);
    expect(problemsIn(await modelOf("other/checkpoints"))).toMatchObject([{ key: "model.path", nearest: null }]);
    const before = process.cwd();
    process.chdir(dir);
    onTestFinished(() => process.chdir(before));
    run("runs/lake/20260101-000000");
    const said = async (word: string) => (await Effect.runPromise(Effect.flip(namedModel("model.path", word)))).message;
    expect(await said("clonde/checkpoints")).toMatch(/; nearest: cloned\/checkpoints$/);
    expect(await said("runs/lakw")).toMatch(/; nearest: runs\/lake$/);
    expect(await said("lake")).toMatch(/; nearest: runs\/lake$/);
  });

  it("nothing where the folder is a model's itself", async () => {
    const model = checkpoint("lake/20260101-000000", 3);
    expect(await modelOf("lake/20260101-000000/checkpoints/step-3")).toBe(model);
  });
});
