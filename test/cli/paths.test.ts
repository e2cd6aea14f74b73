import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect, Result } from "effect";
import { afterAll, describe, expect, it } from "vitest";
import { runFolder } from "../../pipelines/paths.ts";

const dir = mkdtempSync(join(tmpdir(), "millrace-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const answer = (path: string): string => {
  const result = Effect.runSync(Effect.result(runFolder("--resume", path)));
  return Result.isSuccess(result) ? result.success : result.failure.message;
};

describe("a run's folder to go on from", () => {
  it("is one with a config.yaml; another folder and none at all are told apart", () => {
    const run = join(dir, "run");
    mkdirSync(run);
    expect(answer(run)).toBe(`--resume: ${JSON.stringify(run)}: no run's folder, it has no config.yaml`);
    writeFileSync(join(run, "config.yaml"), "{}\n");
    expect(answer(run)).toBe(run);
    expect(answer(join(dir, "rum"))).toBe(
      `--resume: ${JSON.stringify(join(dir, "rum"))}: no such folder; nearest: ${run}`,
    );
  });
});
