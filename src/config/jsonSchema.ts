/**
 * The JSON Schema of the run file, for editors. The shape is what Effect generates from `RunConfig`; each key also gets its sentence and its
 * default. No key is required, because a run file is a layer over those it includes; unknown keys are errors, as they are to `decode`.
 * RAGEN's own key paths are not in it.
 */
import { JsonSchema, Schema, SchemaAST } from "effect";
import { defaultsOf, schemaAt } from "./describe.ts";
import { RunConfig } from "./RunConfig.ts";
import type { Tree } from "./Tree.ts";
import { get, isTree } from "./Tree.ts";

/** Keywords whose value is a schema or a list of schemas, each for a part of the value: an item of a list, a value of a map. */
const parts = ["items", "additionalItems", "additionalProperties"];

/** A JSON Schema with what the schema `ast` says of each key. `defaults` is the default of the value as a whole, if it has one. */
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

/** Draft 07, which editors know best. */
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
