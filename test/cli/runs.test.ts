/** The list of runs: those of a sweep too, in which order, and what is said of each. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect, Result } from "effect";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { runs } from "../../pipelines/runs.ts";
import { writeRun } from "../observe/watch/syntheticRun.ts";

const dir = mkdtempSync(join(tmpdir(), "millrace-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const listed = async (...folders: readonly string[]): Promise<readonly string[]> => {
  const result = await Effect.runPromise(Effect.result(runs({ folders, json: false })));
  return Result.isSuccess(result) ? result.success : [result.failure.message];
};

const whereMade = "millrace train makes one in runs/NAME of the folder in which it is started";

describe("millrace runs", () => {
  it("lists the runs of names and of sweeps, the newest name last, with their results", async () => {
    for (const name of ["lake/20260103-000000", "lake/20260104-000000", "sweep/a,seed=0/20260102-000000"]) {
      writeRun(join(dir, name), { steps: 4 });
    }
    const metrics = [0.25, 0.75, 0.5].map((success, i) =>
      JSON.stringify({ step: 2 * i, time: 60_000 * i, "val-env/success": success }),
    );
    writeFileSync(join(dir, "lake/20260104-000000/metrics.jsonl"), `${metrics.join("\n")}\n`);
    const [head, ...rows] = await listed(dir);
    expect(head?.split(/ {2,}/)).toEqual(["RUN", "STATE", "STEPS", "MINUTES", "BEFORE %", "BEST %", "LAST %"]);
    const cells = rows.map((row) => row.split(/ {2,}/));
    expect(cells.map(([name]) => name)).toEqual(
      ["sweep/a,seed=0/20260102-000000", "lake/20260103-000000", "lake/20260104-000000"].map((name) => join(dir, name)),
    );
    expect(cells.at(-1)?.slice(1)).toEqual(["completed", "4/4", "2.0", "25.0", "75.0", "50.0"]);
    expect(cells[0]?.slice(-3)).toEqual(["-", "-", "-"]);
  });

  it("shows a cloning run by its own steps and loss, a finished one as completed and a killed one as killed", async () => {
    const cloned = mkdtempSync(join(dir, "cloned-"));
    const record = { step: 100, steps: 200, seconds: 90, loss: 0.5, heldOutLoss: null, output: "/o", base: null };
    const states = { a: { end: null }, b: { end: "completed", step: 200 }, c: { end: "failed", heldOutLoss: 1.25 } };
    for (const [name, change] of Object.entries(states)) {
      const folder = join(cloned, name, "20260101-000000");
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "config.yaml"), "run:\n  name: sft\ntrainer:\n  total_training_steps: 200\n");
      writeFileSync(join(folder, "sft.json"), JSON.stringify({ ...record, message: "", ...change }));
    }
    const [, ...rows] = await listed(cloned);
    expect(rows.map((row) => row.split(/ {2,}/).slice(1)).sort()).toEqual([
      ["completed", "sft 200/200", "1.5", "-", "-", "loss 0.5000"],
      ["failed", "sft 100/200", "1.5", "-", "-", "loss 1.2500"],
      ["killed", "sft 100/200", "1.5", "-", "-", "loss 0.5000"],
    ]);
  });

  it("is refused where there is none", async () => {
    const empty = mkdtempSync(join(dir, "empty-"));
    expect(await listed(empty)).toEqual([`runs: ${JSON.stringify(empty)}: no run lies there; ${whereMade}`]);
  });

  it("says where runs are made in a folder without any, and suggests nothing of packages or hidden folders", async () => {
    const empty = mkdtempSync(join(dir, "empty-"));
    for (const name of ["node_modules/experimente", ".experiments", "docs"])
      mkdirSync(join(empty, name), { recursive: true });
    writeRun(join(empty, "node_modules/experimente/20260101-000000"), { steps: 1 });
    const before = process.cwd();
    process.chdir(empty);
    onTestFinished(() => process.chdir(before));
    // A name that no folder of the package has, where a checkout keeps runs of its own.
    expect(await listed("experiments")).toEqual([`DIR: "experiments": no such folder; ${whereMade}`]);
    expect(await listed(".")).toEqual([`runs: ".": no run lies there; ${whereMade}`]);
    mkdirSync(join(empty, "experiment"));
    expect(await listed("experiments")).toEqual(['DIR: "experiments": no such folder; nearest: experiment']);
  });
});
