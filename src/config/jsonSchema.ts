/**
 * The JSON Schema of the run file, for editors: Effect's schema of `RunConfig` with each key's sentence and default.
 * No key is required, because a run file is a layer over its includes; unknown keys are errors. RAGEN's own keys are not in it.
 */
import { JsonSchema, Schema, SchemaAST } from "effect";
import { defaultsOf, schemaAt } from "./describe.ts";
import { RunConfig } from "./RunConfig.ts";
import type { Tree } from "./Tree.ts";
import { get, isTree } from "./Tree.ts";

/** Keywords that hold schemas for parts of a value: a list's items, a map's values. */
const parts = ["items", "additionalItems", "additionalProperties"];

/** Adds descriptions and defaults of `ast` to a JSON Schema. `defaults` is the default of the whole value, if it has one. */
const describeSchema = (node: Tree, ast: SchemaAST.AST | null, defaults: unknown): Tree => {
  const { required: _layersMayOmitKeys, properties, ...rest } = node;
  const inside = (schema: unknown, name: string, value: unknown): unknown =>
    isTree(schema) ? describeSchema(schema, ast === null ? null : schemaAt(ast, [name]), value) : schema;
  const result: Record<string, unknown> = { ...rest };
  const description = ast === null ? undefined : SchemaAST.resolveDescription(ast);
  if (description !== undefined) result.description = description;
  for (const keyword of parts.filter((keyword) => Object.hasOwn(rest, keyword))) {
    const schema = rest[keyword];
    result[keyword] = Array.isArray(schema)
      ? schema.map((item, index) => inside(item, String(index), undefined))
      : inside(schema, "0", undefined);
  }
  if (isTree(properties)) {
    const entries = Object.entries(properties);
    result.properties = Object.fromEntries(
      entries.map(([name, schema]) => [name, inside(schema, name, get(defaults, [name]))]),
    );
  } else if (defaults !== undefined) result.default = defaults;
  return result;
};

const defaultsList = {
  description: "Run files whose keys come before this file's own, by name in config/ or beside this file.",
  type: "array",
  items: { type: "string" },
};

/** The schema in draft 07, which editors support best. */
export const runFileSchema = (): Tree => {
  const document = Schema.toJsonSchemaDocument(RunConfig, { onExcessProperty: "error" });
  const { properties, ...rest } = describeSchema(
    JsonSchema.toDocumentDraft07(document).schema,
    RunConfig.ast,
    defaultsOf(RunConfig),
  );
  return {
    $schema: JsonSchema.META_SCHEMA_URI_DRAFT_07,
    title: "A run file of Millrace",
    ...rest,
    properties: { defaults: defaultsList, ...(isTree(properties) ? properties : {}) },
  };
};
