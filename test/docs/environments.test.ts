/** docs/environments.md held to what it describes: its tables to the presets and their environments, its tutorial to a run of it. */
import { readFileSync } from "node:fs";
import { Result } from "effect";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { decode } from "../../src/config/decode.ts";
import { PresetSection } from "../../src/config/RunConfig.ts";
import { decodePreset, environmentTypes, loadRegistry } from "../../src/env/games/registry.ts";
import { wrappers } from "../../src/env/wrappers/registry.ts";
import { contract } from "../env/contract/contract.ts";
import { instanceOf } from "../env/contract/players.ts";
import { anyPreset, elsewhere, presets, registry } from "../env/contract/presets.ts";

const textOf = (file: string): string => readFileSync(new URL(`../../docs/${file}`, import.meta.url), "utf8");
const page = textOf("environments.md");

const section = (title: string): string => {
  const [, rest] = page.split(`\n## ${title}\n`);
  return rest!.split("\n## ")[0]!;
};

/** The cells of a section's first table, its head left out. */
const tableOf = (title: string): readonly (readonly string[])[] =>
  section(title)
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .slice(2)
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

const names = (cell: string): readonly string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);

/** One entry per preset; a row without a type goes on with the one above. */
const listed = tableOf("What there is").flatMap(([, tags, actions, , offline, cloning], at, rows) => {
  const [type] = rows
    .slice(0, at + 1)
    .flatMap(([cell]) => names(cell!))
    .slice(-1);
  return names(tags!).map((tag) => ({ type: type!, tag, actions: actions!, offline: offline!, cloning: cloning! }));
});

describe("the section on tools", () => {
  it("shows the examples as their files have them", () => {
    const blocks = [...section("Tools in place of text actions").matchAll(/```ts\n([\s\S]*?)\n```/g)].map(
      ([, code]) => code!,
    );
    const files = ["examples/environment/till.ts", "examples/mcp/stock.ts"].map(textOf);
    expect(blocks).toHaveLength(2);
    // The first leaves the adviser out, so that its last line is another's.
    for (const [at, code] of blocks.entries()) expect(files[at]).toContain(code.split("\n").slice(0, -1).join("\n"));
  });
});

describe("the table of environments", () => {
  it("lists every preset under its environment, once", () => {
    const written = listed.map(({ tag, type }) => `${tag}: ${type}`).sort();
    expect(written).toEqual(
      Object.entries(presets)
        .map(([tag, { env_type }]) => `${tag}: ${env_type}`)
        .sort(),
    );
  });

  it("says which run offline", () => {
    const online = listed.filter(({ offline }) => offline === "no").map(({ tag }) => tag);
    // DeepCoder's sandboxes are local, and tried by its own tests.
    const served = listed.filter(({ tag, type }) => elsewhere.has(tag) && type !== "deepcoder").map(({ tag }) => tag);
    expect(online).toEqual(served);
  });

  it("says which take free text", () => {
    const written = listed.filter(({ actions }) => actions.startsWith("free text")).map(({ type }) => type);
    for (const { tag, type } of listed) {
      if (elsewhere.has(tag)) continue;
      const environment = anyPreset(tag);
      if (environment.asynchronous || environment.prepare !== null) expect(written).toContain(type);
      else expect(written.includes(type)).toBe(environment.actions(environment.reset(instanceOf(1), "train")) === null);
    }
  });

  it("says what can be cloned", () => {
    for (const { cloning, tag } of listed) {
      const environment = anyPreset(tag);
      const solver = !environment.asynchronous && environment.solve !== null;
      const adviser = !environment.asynchronous && environment.advise !== null;
      expect([tag, cloning]).toEqual([tag, solver ? "solver" : adviser ? "adviser" : "no"]);
    }
  });
});

describe("the table of differences from RAGEN", () => {
  const rows = tableOf("Where RAGEN differs");

  it("has every environment", () => {
    expect(rows.flatMap(([type]) => names(type!)).sort()).toEqual([...environmentTypes].sort());
  });

  it("names keys that exist, with values they take", () => {
    for (const [type, , way] of rows) {
      const keys = names(way!).filter((code) => code.includes(": ") && !code.endsWith(": N"));
      const config = Object.assign({}, ...keys.map((code) => parse(code))) as Readonly<Record<string, unknown>>;
      expect(Result.isSuccess(registry.environments.get(names(type!)[0]!)!.decode(config))).toBe(true);
    }
  });
});

it("lists every wrapper", () => {
  expect(tableOf("Wrappers").flatMap(([type]) => names(type!))).toEqual([...wrappers.keys()]);
});

describe("the tutorial", () => {
  const [code, run] = ["ts", "yaml"].map(
    (language) => section("An environment of your own").split(`\`\`\`${language}\n`)[1]!.split("```")[0]!,
  );
  it("shows the files of docs/examples/environment as they are, the environment in less than 60 lines", () => {
    expect(code).toBe(textOf("examples/environment/lights.ts"));
    expect(run).toBe(textOf("examples/environment/lights.yaml"));
    expect(code!.trimEnd().split("\n").length).toBeLessThan(60);
  });

  it("lists all that such a file needs", () => {
    const { custom_envs } = parse(run!) as { readonly custom_envs: { readonly Lights: unknown } };
    expect(Result.isSuccess(decode(PresetSection, custom_envs.Lights))).toBe(true);
  });
});

const lights = new URL("../../docs/examples/environment/lights.ts", import.meta.url).pathname;
const environment = Result.getOrThrow(
  decodePreset("Lights", { env_type: lights, env_config: { lamps: 6 } }, await loadRegistry([lights])),
);
contract("the tutorial's environment", { environment, certain: environment, actions: 48 });
