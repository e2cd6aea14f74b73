/** `millrace init`: the project that it writes has a valid name, keeps the contract and resolves. A folder that is not empty stays as it is. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect } from "effect";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { init, packageName, writeAll } from "../../pipelines/init.ts";
import { configDir } from "../../pipelines/paths.ts";
import { validateEnv } from "../../pipelines/validateEnv.ts";
import { load } from "../../src/config/resolve.ts";
import { packageRoot } from "../../src/support/files/packageRoot.ts";

const before = process.cwd();
let here = "";
beforeEach(() => {
  here = realpathSync(mkdtempSync(join(tmpdir(), "millrace-init-")));
  process.chdir(here);
});
afterEach(() => {
  process.chdir(before);
  rmSync(here, { recursive: true });
});

const written = (folder: string) => Effect.runPromise(init(folder));
const refused = async (folder: string): Promise<string> => (await Effect.runPromise(Effect.flip(init(folder)))).message;

const manifestIn = (folder: string) => JSON.parse(readFileSync(join(here, folder, "package.json"), "utf8"));

const files = [
  ".gitignore",
  "README.md",
  "package.json",
  "train.yaml",
  "treasure.test.ts",
  "treasure.ts",
  "tsconfig.json",
];
const commands = [
  "npx millrace env validate Treasure --config-name ./train.yaml",
  "npx millrace train --config-name ./train.yaml",
  "npx millrace watch runs/treasure",
];

describe("millrace init", () => {
  it("writes a project, and says what to type next", async () => {
    const lines = await written("my demo");
    expect(readdirSync("my demo").sort()).toEqual(files);
    expect(lines).toEqual([
      `wrote my demo: ${files.join(", ")}`,
      "next",
      ...["cd 'my demo'", "npm install", ...commands].map((line) => `  ${line}`),
    ]);
  });

  it("takes the working directory, a repository of git without files included", async () => {
    mkdirSync(".git");
    const lines = await written(".");
    expect(readdirSync(here).sort()).toEqual([".git", ...files]);
    expect(lines.slice(2)).toEqual(["npm install", ...commands].map((line) => `  ${line}`));
  });

  it("asks for no installation where the package is installed already", async () => {
    mkdirSync("node_modules/millrace", { recursive: true });
    writeFileSync("node_modules/millrace/package.json", '{ "name": "millrace" }');
    expect(await written("demo")).not.toContain("  npm install");
  });

  it("writes an environment that keeps the contract, and a run file that names it", async () => {
    await written("demo");
    const config = await Effect.runPromise(load("./demo/train.yaml", [], configDir));
    expect(config.es_manager.train.tags).toEqual(["Treasure"]);
    expect(config.custom_envs.Treasure?.env_type).toBe(join(here, "demo", "treasure.ts"));
    const { isKept, lines } = await Effect.runPromise(validateEnv({ config, tag: "Treasure", json: false, width: 80 }));
    expect([isKept, lines.at(-1)]).toEqual([true, expect.stringMatching(/^Treasure: 1\d passed, 0 failed/)]);
  });

  it.each([
    [
      "a folder with a file",
      () => writeFileSync(join(here, "demo", "mine.ts"), "mine"),
      /it is not empty: it holds "mine.ts"/,
    ],
    ["a folder with a folder", () => mkdirSync(join(here, "demo", "src")), /it is not empty: it holds "src"/],
  ])("refuses %s and writes nothing", async (_, fill, message) => {
    mkdirSync("demo");
    fill();
    const before = readdirSync("demo");
    expect(await refused("demo")).toMatch(message);
    expect(readdirSync("demo")).toEqual(before);
  });

  it("refuses a file, and a place below one", async () => {
    writeFileSync("file", "mine");
    expect(await refused("file")).toMatch(/^FOLDER: "file": .*; name a new folder: millrace init FOLDER$/);
    expect(await refused("file/demo")).toMatch(/^FOLDER: "file\/demo": /);
    expect(readFileSync("file", "utf8")).toBe("mine");
  });

  it("leaves nothing behind where a file cannot be written", async () => {
    const unwritable = new Map([
      ["a", ""],
      ["missing/b", ""],
    ]);
    await expect(writeAll(join(here, "new", "demo"), unwritable)).rejects.toThrow("ENOENT");
    expect(existsSync("new")).toBe(false);
    mkdirSync("empty");
    await expect(writeAll(join(here, "empty"), unwritable)).rejects.toThrow("ENOENT");
    expect(readdirSync("empty")).toEqual([]);
  });
});

describe("package.json of a new project", () => {
  it.each([
    ["demo", "demo"],
    ["My Demo", "my-demo"],
    ["_Läufer (2)", "laufer-2"],
    ["日本", "millrace-project"],
    ["millrace", "millrace-project"],
  ])("in the folder %j has the name %j", (folder, name) => {
    expect(packageName(join("/home", folder))).toBe(name);
  });

  it("depends on the tarball of the project around it", async () => {
    writeFileSync("package.json", '{ "dependencies": { "millrace": "file:packed/millrace-0.1.0.tgz" } }');
    await written("apps/demo");
    expect(manifestIn("apps/demo").dependencies).toEqual({ millrace: "file:../../packed/millrace-0.1.0.tgz" });
  });

  it("depends on the version of the project around it", async () => {
    writeFileSync("package.json", '{ "devDependencies": { "millrace": "^0.1.0" } }');
    await written("demo");
    expect(manifestIn("demo")).toMatchObject({ name: "demo", private: true, dependencies: { millrace: "^0.1.0" } });
  });

  it("depends on this checkout where nothing else is named", async () => {
    await written("demo");
    const { millrace } = manifestIn("demo").dependencies;
    expect(join(here, "demo", millrace.replace("file:", ""))).toBe(packageRoot);
  });
});
