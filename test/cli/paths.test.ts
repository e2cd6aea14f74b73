import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect, Result } from "effect";
import { afterAll, describe, expect, it, vi } from "vitest";
import { modelFolder } from "../../pipelines/paths.ts";

const dir = mkdtempSync(join(tmpdir(), "millrace-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe("a model's folder", () => {
  const found = (path: string): string => {
    const result = Effect.runSync(Effect.result(modelFolder("model.path", path)));
    return Result.isSuccess(result) ? result.success : result.failure.message;
  };

  it("may be named as on the Hugging Face hub, where its cache has it", () => {
    const hub = join(dir, "hub");
    const cached = join(hub, "models--Some--Model-1B");
    mkdirSync(join(cached, "refs"), { recursive: true });
    mkdirSync(join(cached, "snapshots", "abc"), { recursive: true });
    writeFileSync(join(cached, "refs", "main"), "abc");
    vi.stubEnv("HF_HUB_CACHE", hub);
    expect(found("Some/Model-1B")).toBe(join(cached, "snapshots", "abc"));
    expect(found("Some/Model-2B")).toBe(
      'model.path: "Some/Model-2B": no such folder; a model of the Hugging Face hub is taken from models/Model-2B or the hub\'s cache',
    );
    vi.unstubAllEnvs();
  });

  it("is the folder of that path first", () => {
    expect(found("config/models/nano")).toMatch(/config\/models\/nano$/);
  });
});
