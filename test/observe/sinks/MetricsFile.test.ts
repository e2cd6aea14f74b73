import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect, Exit } from "effect";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import * as JsonLines from "../../../src/observe/sinks/MetricsFile.ts";
import { stepRecord } from "../../build/records.ts";
import { run } from "./fixtures.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "metrics-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const lines = (path: string): unknown[] =>
  readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

describe("metrics.jsonl", () => {
  it("holds one flat object a step, each on disk before the next is taken", async () => {
    const path = join(folder, "metrics.jsonl");
    const sink = JsonLines.make(path);
    await Effect.runPromise(sink.open(run));
    await Effect.runPromise(sink.step(stepRecord(1, { "actor/pg_loss": -0.5, "train/success": 0.25 })));
    expect(lines(path)).toEqual([{ step: 1, time: 1_003_000, "actor/pg_loss": -0.5, "train/success": 0.25 }]);
    await Effect.runPromise(sink.step(stepRecord(2, { "critic/vf_loss": Number.NaN })));
    expect(lines(path)[1]).toEqual({ step: 2, time: 1_006_000, "critic/vf_loss": null });
    await Effect.runPromise(sink.close({ _tag: "Completed" }));
  });

  it("cuts the steps that a resumed run will do again, and a torn last line", async () => {
    const path = join(folder, "metrics.jsonl");
    writeFileSync(path, `${[0, 1, 2, 3, 4].map((step) => JsonLines.line(stepRecord(step))).join("")}{"step":5,"ti`);
    const sink = JsonLines.make(path);
    await Effect.runPromise(sink.open({ ...run, from: 2 }));
    await Effect.runPromise(sink.step(stepRecord(3, { again: 1 })));
    await Effect.runPromise(sink.close({ _tag: "Completed" }));
    expect(lines(path)).toEqual([
      { step: 0, time: 1_000_000 },
      { step: 1, time: 1_003_000 },
      { step: 2, time: 1_006_000 },
      { step: 3, time: 1_009_000, again: 1 },
    ]);
  });

  it("says in one sentence when its folder is not there", async () => {
    const path = join(folder, "missing", "metrics.jsonl");
    const exit = await Effect.runPromiseExit(Effect.flip(JsonLines.make(path).open(run)));
    expect(Exit.isSuccess(exit) && exit.value.message).toContain(`cannot open ${path}: ENOENT`);
  });

  it("fails at the next step where it was removed", async () => {
    const path = join(folder, "metrics.jsonl");
    const sink = JsonLines.make(path);
    await Effect.runPromise(sink.open(run));
    await Effect.runPromise(sink.step(stepRecord(1)));
    rmSync(path);
    const { message } = await Effect.runPromise(Effect.flip(sink.step(stepRecord(2))));
    expect(message).toContain("the file was removed while the run went on");
    await Effect.runPromise(sink.close({ _tag: "Failed", message }));
  });
});
