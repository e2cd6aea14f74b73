/** A command says that it loads weights before it reads them. */
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "@effect/vitest";
import { Console, Effect } from "effect";
import { describe, expect } from "vitest";
import { tellLoading } from "../../pipelines/loading.ts";
import { temporaryFolder } from "../temporaryFolder.ts";

const said = Effect.fnUntraced(function* (folder: string) {
  const lines: string[] = [];
  const console = { ...globalThis.console, log: (line: string) => void lines.push(line) };
  yield* Effect.provideService(tellLoading(folder), Console.Console, console);
  return lines;
});

/** A file of which nothing is on the disk. */
const sparse = (path: string, bytes: number): void => {
  writeFileSync(path, "");
  truncateSync(path, bytes);
};

describe("loading a model", () => {
  it.live("names its folder and size where it is large, all shards together, and is silent about a small one", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const [large, small] = [join(dir, "large"), join(dir, "small")];
      for (const folder of [large, small]) mkdirSync(folder);
      for (const shard of [1, 2]) sparse(join(large, `model-0000${shard}-of-00002.safetensors`), 135_000_000);
      sparse(join(small, "model.safetensors"), 1_000_000);
      expect(yield* said(large)).toEqual([`loading ${large}: 270 MB of weights`]);
      expect(yield* said(small)).toEqual([]);
      expect(yield* said(join(dir, "none"))).toEqual([]);
    }),
  );
});
