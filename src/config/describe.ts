/**
 * Reads a schema as documentation: full name, meaning, default and valid values of each key. Nothing here knows a particular key.
 * Error messages, `millrace help config` and the JSON Schema are made from it.
 */
import { Option, Schema, SchemaAST } from "effect";
import type { Path } from "./Tree.ts";
import { get, isTree, set } from "./Tree.ts";

/** The valid values of one key. */
export interface Expectation {
  readonly text: string;
  readonly choices: readonly string[] | null;
  /**
   * Returns the valid number closest to an invalid one. If the bound itself is invalid (a number above 0), it returns `fallback`, the
   * key's default.
   */
  readonly nearest: (value: number, fallback: number | null) => number | null;
}

export interface KeyInfo {
  readonly key: string;
  readonly description: string;
  /** The default as one line of YAML flow; empty for a required key. */
  readonly default: string;
  readonly expected: string;
}

interface Range {
  readonly integer: boolean;
  readonly minimum: number;
  readonly maximum: number;
  /** Exclusive bounds: valid numbers lie above `above` and below `below`. */
  readonly above: number;
  readonly below: number;
}

const payloadNumber = (payload: unknown, key: string, fallback: number): number => {
  const value = get(payload, [key]);
  return typeof value === "number" ? value : fallback;
};

const flatFilters = (checks: SchemaAST.Checks | undefined): ReadonlyArray<SchemaAST.Filter<unknown>> =>
  (checks ?? []).flatMap((check) => (check._tag === "Filter" ? [check] : flatFilters(check.checks)));

const numberRange = (checks: SchemaAST.Checks | undefined): Range => {
  let limits: Range = { integer: false, minimum: -Infinity, maximum: Infinity, above: -Infinity, below: Infinity };
  for (const check of flatFilters(checks)) {
    const representation: unknown = check.annotations?.representation;
    const id = get(representation, ["id"]);
    const payload = get(representation, ["payload"]);
    if (typeof id === "string" && id.endsWith("isInt")) limits = { ...limits, integer: true };
    const minimum = Math.max(limits.minimum, payloadNumber(payload, "minimum", -Infinity));
    const maximum = Math.min(limits.maximum, payloadNumber(payload, "maximum", Infinity));
    const above = Math.max(limits.above, payloadNumber(payload, "exclusiveMinimum", -Infinity));
    const below = Math.min(limits.below, payloadNumber(payload, "exclusiveMaximum", Infinity));
    limits = { ...limits, minimum, maximum, above, below };
  }
  return limits;
};

const rangeText = ({ above, below, integer, maximum, minimum }: Range): string => {
  const noun = integer ? "an integer" : "a number";
  if (minimum > -Infinity && maximum < Infinity) return `${noun} from ${minimum} to ${maximum}`;
  const bounds = [
    ...(above > -Infinity ? [`above ${above}`] : []),
    ...(minimum > -Infinity ? [`at least ${minimum}`] : []),
    ...(below < Infinity ? [`below ${below}`] : []),
    ...(maximum < Infinity ? [`at most ${maximum}`] : []),
  ];
  return [noun, bounds.join(" and ")].join(" ").trimEnd();
};

/** Describes a text by its checks; "not empty" is said only if there is no other. */
const textOf = (checks: SchemaAST.Checks | undefined): string => {
  const filters = flatFilters(checks);
  if (filters.length === 0) return "a text";
  const notEmpty = (filter: SchemaAST.Filter<unknown>) =>
    get(filter.annotations?.representation, ["payload", "minLength"]) === 1;
  const named = filters.filter((filter) => !notEmpty(filter)).map((filter) => filter.annotations?.expected ?? "valid");
  return named.length === 0 ? "a text that is not empty" : named.join(", ");
};

const expectText = (text: string): Expectation => ({ text, choices: null, nearest: () => null });

const literals = (ast: SchemaAST.AST): readonly string[] | null => {
  if (SchemaAST.isLiteral(ast)) return [String(ast.literal)];
  if (!SchemaAST.isUnion(ast)) return null;
  const inner = ast.types.map(literals);
  return inner.every((item) => item !== null) ? inner.flat() : null;
};

export const expectation = (ast: SchemaAST.AST): Expectation => {
  const names = literals(ast);
  if (names !== null) return { ...expectText(`one of ${names.join(", ")}`), choices: names };
  if (SchemaAST.isBoolean(ast)) return { ...expectText("true or false"), choices: ["true", "false"] };
  if (SchemaAST.isNumber(ast)) {
    const limits = numberRange(ast.checks);
    const nearest = (value: number, fallback: number | null) => {
      if (!Number.isFinite(value)) return null;
      if (value <= limits.above || value >= limits.below) return fallback;
      const clamped = Math.min(Math.max(limits.integer ? Math.round(value) : value, limits.minimum), limits.maximum);
      return clamped === value ? null : clamped;
    };
    return { ...expectText(rangeText(limits)), nearest };
  }
  if (SchemaAST.isString(ast)) return expectText(textOf(ast.checks));
  if (SchemaAST.isArrays(ast)) {
    const [item] = [...ast.rest, ...ast.elements];
    const each = item === undefined ? "" : `, each ${expectation(item).text}`;
    if (ast.rest.length === 0) return expectText(`a list of ${ast.elements.length} values${each}`);
    return expectText(`a list${ast.elements.length > 0 ? " that is not empty" : ""}${each}`);
  }
  if (SchemaAST.isObjects(ast)) {
    return expectText(
      ast.propertySignatures.length > 0 ? `a section with the keys ${sectionKeys(ast).join(", ")}` : "a map",
    );
  }
  if (SchemaAST.isUnion(ast)) return expectText(ast.types.map((type) => expectation(type).text).join(", or "));
  if (SchemaAST.isNull(ast)) return expectText("null");
  return expectText("another kind of value");
};

/** Returns a section's keys, none for a map with arbitrary keys. */
export const sectionKeys = (ast: SchemaAST.AST): readonly string[] =>
  SchemaAST.isObjects(ast) ? ast.propertySignatures.map(({ name }) => String(name)) : [];

/** Returns the schema at a path, or null. Any key of an open map leads to its values' schema, an index to its item's. */
export const schemaAt = (ast: SchemaAST.AST, path: Path): SchemaAST.AST | null => {
  const [key, ...rest] = path;
  if (key === undefined) return ast;
  if (SchemaAST.isObjects(ast)) {
    const named = ast.propertySignatures.find(({ name }) => name === key)?.type ?? ast.indexSignatures[0]?.type;
    return named === undefined ? null : schemaAt(named, rest);
  }
  if (SchemaAST.isArrays(ast)) {
    const item = ast.elements[Number(key)] ?? ast.rest[0];
    return item === undefined ? null : schemaAt(item, rest);
  }
  return null;
};

/** Returns the defaults of a schema in which every key has one, in a run file's form. */
export const defaultsOf = (schema: Schema.Codec<unknown, unknown>): unknown =>
  Option.getOrUndefined(Schema.decodeUnknownOption(schema)({}));

const inline = (value: unknown): string =>
  value === undefined ? "" : typeof value === "string" && value !== "" ? value : JSON.stringify(value);

const listKeys = (ast: SchemaAST.AST, path: Path, defaults: unknown): readonly KeyInfo[] => {
  if (SchemaAST.isObjects(ast) && ast.propertySignatures.length > 0) {
    return ast.propertySignatures.flatMap(({ name, type }) => listKeys(type, [...path, String(name)], defaults));
  }
  const info: KeyInfo = {
    key: path.join("."),
    description: SchemaAST.resolveDescription(ast) ?? "",
    default: inline(get(defaults, path)),
    expected: expectation(ast).text,
  };
  const [value] = SchemaAST.isObjects(ast) ? ast.indexSignatures : [];
  const inner = value === undefined ? [] : sectionKeys(value.type).length > 0 ? listRecordKeys(value.type, path) : [];
  return [info, ...inner];
};

/** Returns the defaults of a map's item, of which one key may be required. */
const itemDefaults = (ast: SchemaAST.AST): unknown => {
  const decode = Schema.decodeUnknownOption(Schema.make<Schema.Codec<unknown, unknown>>(ast));
  const whole = Option.getOrNull(decode({}));
  if (whole !== null) return whole;
  for (const key of sectionKeys(ast)) {
    const item = Option.getOrUndefined(decode({ [key]: "none" }));
    if (isTree(item)) return Object.fromEntries(Object.entries(item).filter(([name]) => name !== key));
  }
  return {};
};

/** Lists the keys below an open map once, with `TAG` for its key. */
const listRecordKeys = (ast: SchemaAST.AST, path: Path): readonly KeyInfo[] => {
  const below = [...path, "TAG"];
  return listKeys(ast, below, set({}, below, itemDefaults(ast)));
};

/** Lists every key of a schema in its order. */
export const keyInfos = (schema: Schema.Codec<unknown, unknown>): readonly KeyInfo[] =>
  listKeys(schema.ast, [], defaultsOf(schema));
