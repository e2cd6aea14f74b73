/** The JSON Schema that editors complete run files by. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { runFileNames } from "../../src/config/compose.ts";
import { keyInfos } from "../../src/config/describe.ts";
import { runFileSchema } from "../../src/config/jsonSchema.ts";
import { RunConfig } from "../../src/config/RunConfig.ts";
import { get } from "../../src/config/Tree.ts";

const configDir = new URL("../../config", import.meta.url).pathname;
const schema = runFileSchema();

/** The path to a key of the run file in the schema. */
const schemaPath = (key: string): readonly string[] =>
  key.split(".").flatMap((name) => (name === "TAG" ? ["additionalProperties"] : ["properties", name]));

describe("the JSON Schema of the run file", () => {
  it("is the one in config/schema.json (npm run schema writes it)", () => {
    expect(JSON.parse(readFileSync(`${configDir}/schema.json`, "utf8"))).toEqual(schema);
  });

  it("has every key with its sentence", () => {
    const descriptions = keyInfos(RunConfig).map(({ key }) => [key, get(schema, [...schemaPath(key), "description"])]);
    expect(descriptions).toEqual(keyInfos(RunConfig).map(({ description, key }) => [key, description]));
  });

  it("has choices, ranges and defaults", () => {
    expect(get(schema, schemaPath("pipeline.mode"))).toMatchObject({
      enum: ["lockstep", "sync", "async"],
      default: "async",
    });
    expect(get(schema, schemaPath("pipeline.inbox"))).toMatchObject({ type: "integer", minimum: 1, default: 8 });
    expect(get(schema, schemaPath("actor.lr"))).toMatchObject({ exclusiveMinimum: 0, default: 1e-6 });
  });

  it("takes any preset and any key of its environment, and no other unknown key", () => {
    const preset = schemaPath("custom_envs.TAG");
    expect(get(schema, [...preset, "type"])).toBe("object");
    expect(get(schema, [...preset, "required"])).toBeUndefined();
    expect(get(schema, [...preset, "properties", "env_config", "additionalProperties"])).not.toBe(false);
    expect(get(schema, [...schemaPath("actor"), "additionalProperties"])).toBe(false);
  });

  it.each(runFileNames(configDir))("is named by %s", (name) => {
    const [first] = readFileSync(`${configDir}/${name}.yaml`, "utf8").split("\n");
    expect(first).toBe("# yaml-language-server: $schema=schema.json");
  });

  it.each(runFileNames(`${configDir}/ragen`))("is named by ragen/%s", (name) => {
    const [first] = readFileSync(`${configDir}/ragen/${name}.yaml`, "utf8").split("\n");
    expect(first).toBe("# yaml-language-server: $schema=../schema.json");
  });
});
