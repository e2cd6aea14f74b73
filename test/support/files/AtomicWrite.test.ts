import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { replaceFolder } from "../../../src/support/files/AtomicWrite.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";

const plant = (root: string, name: string, text: string): void => {
  mkdirSync(join(root, name));
  writeFileSync(join(root, name, "file"), text);
};
const filling = (text: string) => (into: string) => Effect.sync(() => writeFileSync(join(into, "file"), text));
const textIn = (root: string, name: string) => readFileSync(join(root, name, "file"), "utf8");

describe("a folder that is replaced", () => {
  /** The files that a kill leaves, by the step before which it came. */
  const states: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ["nothing", {}],
    ["half a new one", { model: "old", "model.partial": "half" }],
    ["the old one moved aside", { "model.partial": "whole", "model.replaced": "old" }],
    ["both", { model: "new", "model.replaced": "old" }],
  ];
  it.effect.each(states)("is the new one alone after a kill that left %s", ([, left]) =>
    Effect.gen(function* () {
      const root = yield* temporaryFolder;
      for (const [name, text] of Object.entries(left)) plant(root, name, text);
      yield* replaceFolder(join(root, "model"), filling("newest"));
      expect(readdirSync(root)).toEqual(["model"]);
      expect(textIn(root, "model")).toBe("newest");
    }),
  );

  it.effect("keeps what was moved aside while the new one is written, where it is the only whole one", () =>
    Effect.gen(function* () {
      const root = yield* temporaryFolder;
      plant(root, "model.replaced", "old");
      const failing = () => Effect.fail("disk full" as const);
      expect(yield* Effect.flip(replaceFolder(join(root, "model"), failing))).toBe("disk full");
      expect(textIn(root, "model.replaced")).toBe("old");
    }),
  );

  it.effect("is put back where the new one cannot be given its name", () =>
    Effect.gen(function* () {
      const root = yield* temporaryFolder;
      plant(root, "model", "old");
      // Another process removes the new file before it is renamed.
      const vanishing = (into: string) =>
        Effect.promise(async () => (await import("node:fs/promises")).rm(into, { recursive: true }));
      yield* Effect.flip(replaceFolder(join(root, "model"), vanishing));
      expect(existsSync(join(root, "model"))).toBe(true);
      expect(textIn(root, "model")).toBe("old");
      expect(readdirSync(root)).toEqual(["model"]);
    }),
  );
});
