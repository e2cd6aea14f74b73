/** An environment's code and its libraries are loaded only in a thread that plays it, and only when a preset that is used names it. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import type { Setup } from "../../../src/env/pool/worker.ts";

const root = new URL("../../../", import.meta.url).href;

/** Paths from the package root of what a fresh thread loads for `entry`. */
const loadedBy = async (entry: string, setup: Partial<Setup> = {}): Promise<readonly string[]> => {
  const workerData = { ...setup, entry: new URL(entry, root).href };
  const thread = new Worker(new URL("./fixtures/loadedModules.ts", import.meta.url), { workerData, execArgv: [] });
  const [urls] = (await once(thread, "message")) as [readonly string[]];
  await thread.terminate();
  return urls.map((url) => (url.startsWith(root) ? url.slice(root.length) : url));
};

/** The modules that a thread with these presets loads. */
const stepThread = (presets: Setup["presets"]): Promise<readonly string[]> =>
  loadedBy("src/env/pool/worker.ts", { registry: new URL("src/env/games/registry.ts", root).href, presets });

const folders = /^src\/env\/(?:(?:games\/\w+|openenv|sandbox)\/|games\/(?!registry))/;
const environmentsIn = (paths: readonly string[]): readonly string[] => [
  ...new Set(paths.flatMap((path) => (folders.test(path) ? [path.split("/").slice(2, -1).join("/")] : []))),
];

/** Libraries that only some environments need. */
const libraries = ["ws", "hyparquet", "minisearch", "quickjs-emscripten"];
const librariesIn = (paths: readonly string[]): readonly string[] =>
  libraries.filter((name) => paths.some((path) => path.includes(`node_modules/${name}/`)));

describe("a step thread", () => {
  it("loads the code of the environments it plays, and nothing of the others", async () => {
    const loaded = await stepThread({ Arms: { env_type: "bandit", env_config: {} } });
    expect(loaded).toContain("src/env/games/bandit/Bandit.ts");
    expect(environmentsIn(loaded).filter((folder) => folder !== "games")).toEqual(["games/bandit", "games/random"]);
    expect(librariesIn(loaded)).toEqual([]);
  });

  it("loads the library of an environment that needs one, so that this test would see it", async () => {
    const config = { val_share: 0.5, path: new URL("test/env/games/dataset/fixtures/gsm8k.parquet", root).pathname };
    const loaded = await stepThread({ Sums: { env_type: "static_qa", env_config: config } });
    expect(librariesIn(loaded)).toEqual(["hyparquet"]);
  });
});

describe("the main thread", () => {
  it("loads no environment with the train pipeline", async () => {
    const loaded = await loadedBy("pipelines/train.ts");
    expect(loaded).toContain("src/env/games/registry.ts");
    expect(environmentsIn(loaded)).toEqual([]);
    expect(librariesIn(loaded)).toEqual([]);
  });

  it("loads the environments of the presets that a run plays, and none of those it only lists", async () => {
    const loaded = await loadedBy("test/env/contract/fixtures/checkQuickstart.ts");
    expect(environmentsIn(loaded)).toContain("games/frozen_lake");
    expect(environmentsIn(loaded)).not.toContain("games/sudoku");
    expect(librariesIn(loaded)).toEqual([]);
  });
});
