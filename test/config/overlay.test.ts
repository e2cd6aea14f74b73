import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect } from "effect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { overlay } from "../../src/config/overlay.ts";
import { load } from "../../src/config/resolve.ts";

let dir = "";
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "millrace-overlay-"));
});
afterAll(() => rm(dir, { recursive: true }));

describe("a run file laid over another", () => {
  it("loads as that one with its keys changed", async () => {
    const text = overlay({
      name: "quickstart",
      changes: [
        { path: ["generation", "slots"], value: 48 },
        { path: ["pipeline", "mode"], value: "sync" },
      ],
      comment: ["What was measured."],
    });
    expect(text.startsWith("# What was measured.\n")).toBe(true);
    await writeFile(join(dir, "tuned.yaml"), text);
    const config = await Effect.runPromise(load(join(dir, "tuned.yaml"), [], "config"));
    const before = await Effect.runPromise(load("quickstart", [], "config"));
    expect(config).toEqual({
      ...before,
      generation: { ...before.generation, slots: 48 },
      pipeline: { ...before.pipeline, mode: "sync" },
    });
  });
});
