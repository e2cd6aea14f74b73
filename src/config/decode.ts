/**
 * Decodes plain data strictly by a schema: unknown keys are errors too. Each problem becomes one line that names the full key, the value
 * and the nearest valid choice. Environments decode their `env_config` with the same function.
 */
import { Result, Schema, type SchemaAST, type SchemaIssue } from "effect";
import { BadInput } from "../domain/Errors.ts";
import { at, defaultsOf, expectation, keys, keysOf } from "./describe.ts";
import { byNearest, choices, distance } from "./nearest.ts";
import type { Path } from "./Tree.ts";
import { get, isTree, leaves } from "./Tree.ts";

export interface DecodeOptions {
  /** The path of the value in the run file; messages prepend it to every key. */
  readonly section?: Path;
  /** The file or override that sets a key, or null. */
  readonly origin?: (path: Path) => string | null;
  /** Other valid spellings of keys, to suggest for an unknown one. */
  readonly synonyms?: readonly string[];
}

interface Found {
  readonly path: Path;
  readonly issue: SchemaIssue.Issue;
}

/** The innermost issues with their paths. */
const innermost = (issue: SchemaIssue.Issue, path: Path): readonly Found[] => {
  switch (issue._tag) {
    case "Pointer":
      return innermost(issue.issue, [...path, ...issue.path.map(String)]);
    case "Composite":
      return issue.issues.flatMap((inner) => innermost(inner, path));
    case "Encoding":
      return innermost(issue.issue, path);
    case "Filter":
      return issue.issue._tag === "Pointer" || issue.issue._tag === "Composite"
        ? innermost(issue.issue, path)
        : [{ path, issue }];
    default:
      return [{ path, issue }];
  }
};

const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
};

const item = (value: unknown, path: Path): unknown => {
  let found = value;
  for (const key of path) found = Array.isArray(found) ? found[Number(key)] : get(found, [key]);
  return found;
};

const split = (key: string): { readonly section: string; readonly name: string } => {
  const dot = key.lastIndexOf(".");
  return { section: key.slice(0, Math.max(dot, 0)), name: key.slice(dot + 1) };
};

/** The known key nearest to `key`; the last word counts twice as much as its section. */
const nearestKey = (key: string, known: readonly string[]): string | undefined => {
  const wanted = split(key);
  const relative = (a: string, b: string) => distance(a, b) / Math.max(a.length, b.length, 1);
  const cost = (candidate: string) => {
    const { name, section } = split(candidate);
    return 2 * relative(wanted.name, name) + relative(wanted.section, section);
  };
  const ranked = known.map((candidate) => ({ candidate, cost: cost(candidate) })).sort((a, b) => a.cost - b.cost);
  return ranked[0]?.candidate;
};

const unknownKey = (
  schema: Schema.Codec<unknown, unknown>,
  path: Path,
  value: unknown,
  options: DecodeOptions,
): readonly string[] => {
  const prefix = options.section ?? [];
  const siblings = keysOf(at(schema.ast, path.slice(0, -1)) ?? schema.ast);
  const section = [...prefix, ...path.slice(0, -1)].join(".");
  const known = [...keys(schema).map(({ key }) => [...prefix, key].join(".")), ...(options.synonyms ?? [])];
  return leaves(value, path).map((leaf) => {
    const key = [...prefix, ...leaf.path].join(".");
    const nearest = nearestKey(key, known);
    const place = options.origin?.(leaf.path) ?? null;
    const where = place === null ? "" : ` (${place})`;
    const hint = nearest === undefined ? "" : `; nearest: ${nearest}`;
    const name = section === "" ? "top-level sections" : `keys of ${section}`;
    return `${key}: unknown key${where}${hint}; ${name}: ${choices(path.at(-1) ?? "", siblings, 40)}`;
  });
};

/** The valid values for a message, the nearest first. `fallback` is the key's default. */
const invalid = (ast: SchemaAST.AST, value: unknown, fallback: unknown): string => {
  const { choices: names, nearest, text } = expectation(ast);
  if (names !== null && value !== undefined) {
    const sorted = byNearest(String(value), names);
    return `expected one of ${sorted.join(", ")}; nearest: ${sorted[0]}`;
  }
  const closest = typeof value === "number" ? nearest(value, typeof fallback === "number" ? fallback : null) : null;
  return `expected ${text}${closest === null ? "" : `; nearest: ${closest}`}`;
};

/** The message of a check that brings its own, or null. */
const statement = (issue: SchemaIssue.Issue): string | null => {
  if (issue._tag === "Filter") return statement(issue.issue);
  const message = issue._tag === "InvalidValue" ? issue.annotations?.message : undefined;
  return typeof message === "string" ? message : null;
};

const problem = (
  schema: Schema.Codec<unknown, unknown>,
  value: unknown,
  { issue, path }: Found,
  options: DecodeOptions,
): readonly string[] => {
  const actual = item(value, path);
  if (issue._tag === "UnexpectedKey") return unknownKey(schema, path, actual, options);
  const prefix = options.section ?? [];
  const key = [...prefix, ...path].join(".");
  const place = options.origin?.(path) ?? null;
  const where = place === null ? "" : ` (${place})`;
  const ast = at(schema.ast, path);
  const expected =
    statement(issue) ?? (ast === null ? "not a valid value" : invalid(ast, actual, get(defaultsOf(schema), path)));
  const parent = path.slice(0, -1);
  const list = item(value, parent);
  if (issue._tag === "MissingKey" && Array.isArray(list)) {
    // The list is too short: the message names the list, not the missing item.
    const ast = at(schema.ast, parent);
    const wanted = ast === null ? expected : invalid(ast, list, undefined);
    return [`${[...prefix, ...parent].join(".")}: ${shown(list)}${where}: ${wanted}`];
  }
  if (issue._tag === "MissingKey") return [`${key}: missing${where}; ${expected}`];
  return [`${key}: ${shown(actual)}${where}: ${expected}`];
};

/** Without sections that are null, as empty sections of a YAML file are read. */
const withoutEmptySections = (ast: SchemaAST.AST | null, value: unknown): unknown => {
  if (ast === null || !isTree(value)) return value;
  const kept = Object.entries(value).flatMap(([key, inner]) => {
    const part = at(ast, [key]);
    return inner === null && part?._tag === "Objects" ? [] : [[key, withoutEmptySections(part, inner)] as const];
  });
  return Object.fromEntries(kept);
};

/** Every problem of a failed strict decoding of `value`, one line each. */
export const explain = (
  schema: Schema.Codec<unknown, unknown>,
  value: unknown,
  { issue }: Schema.SchemaError,
  options: DecodeOptions = {},
): string => {
  const lines = innermost(issue, []).flatMap((found) => problem(schema, value, found, options));
  return [...new Set(lines)].join("\n");
};

/** Decodes `value`, or names every problem. */
export const decode = <A>(
  schema: Schema.Codec<A, unknown>,
  value: unknown,
  options: DecodeOptions = {},
): Result.Result<A, BadInput> => {
  const given = withoutEmptySections(schema.ast, value ?? {});
  const decoded = Schema.decodeUnknownResult(schema)(given, { errors: "all", onExcessProperty: "error" });
  return Result.mapError(decoded, (error) => new BadInput({ message: explain(schema, given, error, options) }));
};
