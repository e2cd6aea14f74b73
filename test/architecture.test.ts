/** The import directions of the house as data, and the sizes it keeps to, executed on every file of src/ and pipelines/. */
import { describe, expect, it } from "vitest";
import { functionsOf } from "./functions.ts";
import { betweenFolders, cycles, type Imports, importsOf, readSources, specifiers } from "./imports.ts";

/** What each folder of src may import from src beside itself: folders, or single files and folders inside them. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  files: [],
  // What we know of our own process: signals, how it ends, its memory limits.
  process: [],
  config: ["domain"],
  tensor: [],
  stage: ["domain"],
  env: ["config", "domain", "files", "http", "stage"],
  environments: ["config", "domain", "env", "files", "openenv", "sandbox"],
  // What servers of ours share: where they listen, who may ask, and how much.
  http: ["domain"],
  openenv: ["config", "domain", "env", "http"],
  sandbox: [],
  policy: ["config", "domain", "files", "stage", "tensor"],
  rollout: ["config", "domain", "stage", "env", "policy"],
  scoring: ["config", "domain"],
  filtering: ["config", "domain"],
  learner: [
    "config",
    "domain",
    "files",
    "stage",
    "tensor",
    "policy/checkpoint",
    "policy/model",
    "policy/runtime",
    "policy/Weights.ts",
  ],
  diagnostics: ["config", "domain", "policy"],
  // What a run will take of memory and time, out of the sizes of its models.
  planning: ["config", "domain", "learner", "policy", "tensor"],
  // What an evaluation leaves, whoever played it: episodes as texts, summaries, comparisons.
  evaluation: ["config", "domain", "env", "files", "rollout"],
  // Chat endpoints as players of an evaluation.
  endpoints: ["config", "domain", "env", "evaluation", "rollout"],
  metrics: ["config", "domain", "files", "http", "stage"],
  // What a run leaves on disk; read by whoever looks at runs, too.
  record: ["config", "domain", "files", "filtering", "process", "stage"],
  // Changing how a run goes on, from outside of it: by a socket that its folder names.
  control: ["config", "domain", "process", "record", "stage"],
  // The line in virtual time, measured by the same gauge.
  simulation: ["domain", "stage/Gauge.ts"],
  // What bounds a run's throughput, and what to set so that it is higher.
  tuning: ["config", "control", "domain", "stage", "simulation", "metrics"],
  // Grids over a run file's keys, and their tables.
  sweep: ["config", "domain"],
  // The page of a run, from its folder; it steers the run as any other process does.
  watch: ["config", "control", "domain", "files", "http", "metrics", "process", "record", "stage", "tuning"],
  cloning: ["config", "domain", "files", "stage", "env", "policy", "rollout", "learner"],
  // Generation and training servers, and rollout workers, in place of threads of our own.
  remote: ["config", "domain", "env", "files", "http", "learner", "policy", "process", "rollout", "stage", "tensor"],
  // Where the parts meet: everything but the pipelines.
  engine: [
    "config",
    "domain",
    "files",
    "stage",
    "env",
    "policy",
    "rollout",
    "scoring",
    "filtering",
    "learner",
    "diagnostics",
    "metrics",
    "process",
    "record",
    "control",
    "tuning",
    "remote",
  ],
};

/** Where each third-party library, and each builtin that starts threads or processes, may be imported. */
const owners: Readonly<Record<string, readonly string[]>> = {
  effect: ["src", "pipelines"],
  yaml: ["src/config"],
  "@bufbuild/protobuf": ["src/model/tensor", "src/observe/sinks", "src/remote/tinker"],
  "@nats-io/jetstream": ["src/remote/workers/nats"],
  "@nats-io/transport-node": ["src/remote/workers/nats"],
  minisearch: ["src/env/games/search"],
  hyparquet: ["src/env/games/dataset"],
  piscina: ["src/env/pool"],
  "onnxruntime-node": ["src/model/runtime"],
  "@tensorflow/tfjs": ["src/model/runtime/tfjs"],
  "@huggingface/gguf": ["src/model/checkpoint/gguf"],
  fflate: ["pipelines/importModel.ts"],
  "@huggingface/jinja": ["src/model/tokenizer"],
  "@huggingface/tokenizers": ["src/model/tokenizer"],
  rxjs: ["src/observe/sinks", "src/engine"],
  "@effect/platform-node": ["pipelines", "src/env/openenv"],
  ws: ["src/env/openenv"],
  preact: ["src/observe/watch/page"],
  htm: ["src/observe/watch/page"],
  uplot: ["src/observe/watch/page"],
  "quickjs-emscripten": ["src/env/sandbox"],
  "node:worker_threads": [
    "src/model/runtime",
    "src/generation",
    "src/learner",
    "src/env/pool",
    "src/remote",
    "src/env/sandbox",
  ],
  // Chat templates of model folders are a stranger's programs.
  "node:child_process": [
    "src/model/tokenizer",
    "src/env/sandbox",
    "src/observe/watch/process",
    "pipelines/sweepRun.ts",
  ],
};

const within = (path: string, places: readonly string[]): boolean =>
  places.some((place) => path === place || path.startsWith(`${place}/`));

const registry = "src/env/games/registry.ts";

const folderOf = (path: string): string => path.split("/")[1] ?? "";

/** Imports of src files and pipelines that the table does not allow. */
const wrongDirections = (graph: readonly Imports[]): readonly string[] =>
  graph.flatMap(({ files, path }) =>
    files
      .filter((file) => {
        if (path.startsWith("pipelines/")) return file === "pipelines/cli.ts" || !within(file, ["src", "pipelines"]);
        if (!file.startsWith("src/")) return true;
        // The table of loaders is the one place that names environments.
        if (path === registry && within(file, ["src/env/games", "src/env/openenv"])) return false;
        const places = [folderOf(path), ...(allowed[folderOf(path)] ?? [])].map((place) => `src/${place}`);
        return !within(file, places);
      })
      .map((file) => `${path} imports ${file}`),
  );

const wrongOwners = (graph: readonly Imports[]): readonly string[] =>
  graph.flatMap(({ packages, path }) =>
    packages
      .filter((name) => {
        const places = owners[name];
        return places === undefined ? !name.startsWith("node:") : !within(path, places);
      })
      .map((name) => `${path} imports ${name}`),
  );

const sources = readSources("src", "pipelines");
const graph = sources.map(importsOf);

describe("the import graph of src/ and pipelines/", () => {
  it("follows the table of directions", () => {
    expect(graph.length).toBeGreaterThan(20);
    expect(wrongDirections(graph)).toEqual([]);
  });

  it("knows every folder of src", () => {
    const folders = new Set(sources.filter(({ path }) => path.startsWith("src/")).map(({ path }) => folderOf(path)));
    expect([...folders].filter((folder) => !Object.hasOwn(allowed, folder))).toEqual([]);
  });

  it("imports each library only in its owner's folder", () => {
    expect(wrongOwners(graph)).toEqual([]);
  });

  it("has no cycle", () => {
    expect(cycles(graph).map((cycle) => cycle.join(" -> "))).toEqual([]);
  });

  it("has no cycle between folders, at any depth", () => {
    const folders = betweenFolders(
      graph.filter(({ path }) => path !== registry),
      "src",
    );
    expect(folders.length).toBeGreaterThan(10);
    expect(cycles(folders).map((cycle) => cycle.join(" -> "))).toEqual([]);
  });

  it("imports only files that exist", () => {
    const known = new Set(sources.map(({ path }) => path));
    const missing = graph.flatMap(({ files, path }) =>
      files.filter((file) => file.endsWith(".ts") && !known.has(file)).map((file) => `${path} imports ${file}`),
    );
    expect(missing).toEqual([]);
  });

  it("has no barrel", () => {
    const barrels = sources.filter(({ path, text }) => path.endsWith("/index.ts") || /^export \* from/m.test(text));
    expect(barrels.map(({ path }) => path)).toEqual([]);
  });
});

describe("every file of src/ and pipelines/", () => {
  it("opens by saying what it is", () => {
    const silent = sources.filter(({ text }) => !/^(#![^\n]*\n)?(\/\*\*|\/\/)/.test(text));
    expect(silent.map(({ path }) => path)).toEqual([]);
  });
});

/** Lines of src/engine in all: where the parts of a run meet, and nothing else. */
const ENGINE_LINES = 1200;
/** Lines of a function in src. */
const FUNCTION_LINES = 60;

describe("the size of src/", () => {
  it("leaves the engine fewer than 1 200 lines", () => {
    const lines = sources
      .filter(({ path }) => path.startsWith("src/engine/"))
      .map(({ text }) => text.split("\n").length - 1);
    expect(lines.length).toBeGreaterThan(10);
    expect(lines.reduce((sum, count) => sum + count, 0)).toBeLessThan(ENGINE_LINES);
  });

  it("has no function longer than 60 lines", () => {
    const functions = sources
      .filter(({ path }) => path.startsWith("src/"))
      .flatMap((file) => functionsOf(file).map((span) => ({ ...span, path: file.path })));
    expect(functions.length).toBeGreaterThan(1000);
    const long = functions.filter(({ lines }) => lines > FUNCTION_LINES);
    expect(long.map(({ line, lines, path }) => `${path}:${line} has ${lines} lines`)).toEqual([]);
  });
});

describe("the reading of imports", () => {
  it("sees static, type, side-effect and dynamic imports, re-exports and worker files", () => {
    const text = `
      import { a } from "./a.ts";
      import type {
        B,
      } from "./b.ts";
      import c, { d } from "effect/c";
      import * as e from "@scope/name/e";
      import "./f.ts";
      export { g } from "./g.ts";
      const h = await import("./h.ts");
      const i = new URL("./i.ts", import.meta.url);
      // import { j } from "./j.ts";
    `;
    const expected = ["./a.ts", "./b.ts", "effect/c", "@scope/name/e", "./g.ts", "./f.ts", "./h.ts", "./i.ts"];
    expect(specifiers(text)).toEqual(expected);
  });

  it("refuses an edge that is not in the table", () => {
    const file = { path: "src/env/a.ts", text: 'import { b } from "../policy/b.ts";\nimport { c } from "rxjs";' };
    const imports = [importsOf(file)];
    expect(wrongDirections(imports)).toEqual(["src/env/a.ts imports src/model/b.ts"]);
    expect(wrongOwners(imports)).toEqual(["src/env/a.ts imports rxjs"]);
  });

  it("lets the learner import only the model, the runtime and the weights of the policy", () => {
    const from = (to: string) => [{ path: "src/learner/a.ts", files: [`src/model/${to}`], packages: [] }];
    expect(["model/a.ts", "runtime/a.ts", "Weights.ts"].flatMap((to) => wrongDirections(from(to)))).toEqual([]);
    expect(wrongDirections(from("generation/a.ts"))).toHaveLength(1);
  });

  it("finds a cycle", () => {
    const file = (path: string, to: string) => ({ path, files: [to], packages: [] });
    expect(cycles([file("a", "b"), file("b", "c"), file("c", "b")])).toEqual([["b", "c", "b"]]);
  });

  it("finds a cycle of folders, and none between a folder and the one it lies in", () => {
    const file = (path: string, to: string) => ({ path, files: [to], packages: [] });
    const around = [file("src/a/x/one.ts", "src/a/y/two.ts"), file("src/a/y/three.ts", "src/a/x/four.ts")];
    expect(cycles(betweenFolders(around, "src"))).toEqual([["src/a/x", "src/a/y", "src/a/x"]]);
    const inside = [file("src/a/one.ts", "src/a/x/two.ts"), file("src/a/x/two.ts", "src/a/three.ts")];
    expect(cycles(betweenFolders(inside, "src"))).toEqual([]);
  });

  it("refuses a pipeline that imports the command line", () => {
    const imports = [{ path: "pipelines/train.ts", files: ["pipelines/cli.ts"], packages: [] }];
    expect(wrongDirections(imports)).toHaveLength(1);
  });
});
