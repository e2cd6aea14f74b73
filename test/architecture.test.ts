/** The import directions of the house as data, and the sizes it keeps to, executed on every file of src/ and pipelines/. */
import { describe, expect, it } from "vitest";
import { functionsOf } from "./functions.ts";
import { betweenFolders, cycles, type Imports, importsOf, readSources, specifiers } from "./imports.ts";

/** Each room of src may import these rooms of src, or single folders inside them, beside itself. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  // The line: all parts meet in the engine, so it may import everything.
  engine: [
    "flow",
    "domain",
    "config",
    "rollout",
    "generation",
    "selection",
    "learner",
    "model",
    "env",
    "support",
    "observe",
    "tools",
    "remote",
    "agents",
  ],
  flow: ["domain"],
  domain: [],
  config: ["domain", "support"],
  rollout: ["config", "domain", "flow", "env/contract", "generation", "model"],
  generation: ["config", "domain", "flow", "model"],
  selection: ["config", "domain"],
  learner: ["config", "domain", "flow", "model", "support"],
  // These rooms serve the line.
  model: ["config", "domain", "support"],
  env: ["config", "domain", "flow", "support"],
  support: ["domain"],
  // These rooms surround it.
  observe: ["config", "domain", "flow", "selection/filtering", "support"],
  tools: [
    "config",
    "domain",
    "env/contract",
    "env/pool",
    "flow",
    "generation",
    "learner",
    "model",
    "observe/sinks",
    "observe/control",
    "rollout",
    "support",
  ],
  remote: ["config", "domain", "flow", "generation", "learner", "model", "rollout", "support"],
  agents: ["config", "domain", "env/contract", "env/pool", "flow", "generation", "model", "rollout", "support"],
};

/** The folders of a room with several parts may import these of each other. */
const inside: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  selection: { diagnostics: [], filtering: [], scoring: [] },
  model: {
    tensor: [],
    wasm: [],
    graphs: ["tensor"],
    checkpoint: ["graphs"],
    runtime: ["graphs", "tensor"],
    tokenizer: ["checkpoint"],
    weights: ["graphs"],
  },
  env: {
    contract: [],
    custom: ["contract"],
    asynchronous: ["contract"],
    wrappers: ["contract"],
    // Threads load the registry of games by its URL, so that the pool names none.
    pool: ["contract", "custom", "asynchronous"],
    sandbox: [],
    openenv: ["contract"],
    mcp: ["contract"],
    games: ["contract", "custom", "openenv", "sandbox", "wrappers"],
    validate: ["contract", "asynchronous"],
  },
  support: { files: [], http: [], modules: ["text"], process: [], text: [] },
  observe: { record: [], control: ["record"], sinks: [], watch: ["control", "record", "sinks"] },
  tools: {
    cloning: [],
    evaluation: [],
    endpoints: ["evaluation"],
    planning: [],
    replay: [],
    simulation: [],
    sweep: [],
    tuning: ["simulation"],
  },
  agents: { check: ["tree"], dialects: [], host: [], session: ["dialects", "host", "tree"], tree: [] },
  remote: { weights: [], generation: ["weights"], tinker: ["generation", "weights"], workers: ["weights"] },
};

/** Only these folders may import the library, or the builtin that starts threads or processes. */
const owners: Readonly<Record<string, readonly string[]>> = {
  effect: ["src", "pipelines"],
  yaml: ["src/config"],
  "@bufbuild/protobuf": ["src/support"],
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
  rxjs: ["src/engine"],
  "@effect/platform-node": ["pipelines"],
  ws: ["src/env/openenv"],
  "@modelcontextprotocol/sdk": ["src/env/mcp"],
  preact: ["src/observe/watch/page"],
  htm: ["src/observe/watch/page"],
  uplot: ["src/observe/watch/page"],
  "quickjs-emscripten": ["src/env/sandbox"],
  "node:worker_threads": [
    "src/model/runtime",
    "src/model/weights",
    "src/engine",
    "src/generation",
    "src/learner",
    "src/env/pool",
    "src/remote",
    "src/env/sandbox",
    "src/agents/host",
  ],
  // Chat templates of model folders are a stranger's programs.
  "node:child_process": [
    "src/model/tokenizer",
    "src/env/sandbox",
    "src/observe/watch/process",
    "src/agents/host",
    // A training that is started again when the kernel has killed it.
    "src/support/process/Supervisor.ts",
    "pipelines/sweepRun.ts",
  ],
};

const within = (path: string, places: readonly string[]): boolean =>
  places.some((place) => path === place || path.startsWith(`${place}/`));

/** The room of a path in src, and the part of it where the room has parts. */
const placeOf = (path: string): { readonly room: string; readonly part: string | undefined } => {
  const [, room = "", ...rest] = path.split("/");
  return { room, part: rest.length > 1 ? rest[0] : undefined };
};

const isAllowed = (path: string, file: string): boolean => {
  if (path.startsWith("pipelines/")) return file !== "pipelines/cli.ts" && within(file, ["src", "pipelines"]);
  const [here, there] = [placeOf(path), placeOf(file)];
  if (here.room !== there.room) {
    return within(
      file,
      (allowed[here.room] ?? []).map((place) => `src/${place}`),
    );
  }
  const parts = inside[here.room];
  if (parts === undefined || here.part === there.part) return file.startsWith("src/");
  // Files beside the parts stand on them.
  if (here.part === undefined) return true;
  return there.part !== undefined && (parts[here.part] ?? []).includes(there.part);
};

/** Imports of src files and pipelines that the tables do not allow. */
const wrongDirections = (graph: readonly Imports[]): readonly string[] =>
  graph.flatMap(({ files, path }) =>
    files.filter((file) => !isAllowed(path, file)).map((file) => `${path} imports ${file}`),
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

  it("knows every room of src, fifteen at most, and every part of those that have parts", () => {
    const places = sources.filter(({ path }) => path.startsWith("src/")).map(({ path }) => placeOf(path));
    expect([...new Set(places.map(({ room }) => room))].sort()).toEqual(Object.keys(allowed).sort());
    expect(Object.keys(allowed).length).toBeLessThanOrEqual(15);
    const unknown = places.flatMap(({ part, room }) => {
      const parts = inside[room];
      return part === undefined || parts === undefined || Object.hasOwn(parts, part) ? [] : [`${room}/${part}`];
    });
    expect(unknown).toEqual([]);
  });

  it("leads from no room of the line, or of what serves it, to what surrounds it", () => {
    const line = Object.keys(allowed).filter(
      (room) => !["engine", "observe", "tools", "remote", "agents"].includes(room),
    );
    const outward = line.flatMap((room) =>
      (allowed[room] ?? []).filter((place) => /^(engine|observe|tools|remote|agents)\b/.test(place)),
    );
    expect(line).toHaveLength(10);
    expect(outward).toEqual([]);
  });

  it("imports each library only in its owner's folder", () => {
    expect(wrongOwners(graph)).toEqual([]);
  });

  it("serves the browser its own folder alone, so the page imports nothing but types from elsewhere", () => {
    const page = "src/observe/watch/page/";
    const files = sources.filter(({ path }) => path.startsWith(page));
    const values = files.map(({ path, text }) => ({ path, text: text.replace(/^import type [^;]*;/gm, "") }));
    const outside = values
      .map(importsOf)
      .flatMap(({ files: imported, path }) =>
        imported.filter((file) => !file.startsWith(page)).map((file) => `${path} imports ${file}`),
      );
    expect(files.length).toBeGreaterThan(20);
    expect(outside).toEqual([]);
  });

  it("has no cycle", () => {
    expect(cycles(graph).map((cycle) => cycle.join(" -> "))).toEqual([]);
  });

  it("has no cycle between folders, at any depth", () => {
    const folders = betweenFolders(graph, "src");
    expect(folders.length).toBeGreaterThan(10);
    expect(cycles(folders).map((cycle) => cycle.join(" -> "))).toEqual([]);
  });

  it("imports only files that exist", () => {
    const paths = new Set(sources.map(({ path }) => path));
    const missing = graph.flatMap(({ files, path }) =>
      files.filter((file) => file.endsWith(".ts") && !paths.has(file)).map((file) => `${path} imports ${file}`),
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

/** Lines of a function in src. */
const FUNCTION_LINES = 60;

describe("the size of src/", () => {
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
    const file = { path: "src/env/a.ts", text: 'import { b } from "../model/b.ts";\nimport { c } from "rxjs";' };
    const imports = [importsOf(file)];
    expect(wrongDirections(imports)).toEqual(["src/env/a.ts imports src/model/b.ts"]);
    expect(wrongOwners(imports)).toEqual(["src/env/a.ts imports rxjs"]);
  });

  it("refuses an edge between parts of a room that is not in their table", () => {
    const from = (path: string, to: string) => wrongDirections([{ path, files: [to], packages: [] }]);
    expect(from("src/env/pool/a.ts", "src/env/games/registry.ts")).toHaveLength(1);
    expect(from("src/model/tensor/a.ts", "src/model/Model.ts")).toHaveLength(1);
    expect(from("src/model/graphs/a.ts", "src/model/tensor/a.ts")).toEqual([]);
    expect(from("src/model/Model.ts", "src/model/graphs/a.ts")).toEqual([]);
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
