/**
 * Decodes plain data strictly by a schema, with unknown keys as errors. Environments decode their `env_config` with it too.
 * Each problem becomes one line with the full key, the value and the nearest valid choice.
 */
import { Result, Schema, type SchemaAST, type SchemaIssue } from "effect";
import { BadInput } from "../domain/Errors.ts";
import { byNearest, choices, distance } from "../support/text/nearest.ts";
import { defaultsOf, expectation, keyInfos, schemaAt, sectionKeys } from "./describe.ts";
import { listProblems, maxProblems, showKey, showValue } from "./show.ts";
import type { Path } from "./Tree.ts";
import { get, isTree, leaves } from "./Tree.ts";

export interface DecodeOptions {
  /** Path of the value in the run file, which messages prepend to every key. */
  readonly section?: Path;
  /** Returns the file or override that sets a key, or null. */
  readonly origin?: (path: Path) => string | null;
  /** Further valid keys to suggest for an unknown one. */
  readonly synonyms?: readonly string[];
}

interface LocatedIssue {
  readonly path: Path;
  readonly issue: SchemaIssue.Issue;
}

/** Returns the innermost issues with their paths. */
const innermostIssues = (issue: SchemaIssue.Issue, path: Path): readonly LocatedIssue[] => {
  switch (issue._tag) {
    case "Pointer":
      return innermostIssues(issue.issue, [...path, ...issue.path.map(String)]);
    case "Composite":
      return issue.issues.flatMap((inner) => innermostIssues(inner, path));
    case "Encoding":
      return innermostIssues(issue.issue, path);
    case "Filter":
      return issue.issue._tag === "Pointer" || issue.issue._tag === "Composite"
        ? innermostIssues(issue.issue, path)
        : [{ path, issue }];
    default:
      return [{ path, issue }];
  }
};

const valueAt = (value: unknown, path: Path): unknown => {
  let inner = value;
  for (const key of path) inner = Array.isArray(inner) ? inner[Number(key)] : get(inner, [key]);
  return inner;
};

const split = (key: string): { readonly section: string; readonly name: string } => {
  const dot = key.lastIndexOf(".");
  return { section: key.slice(0, Math.max(dot, 0)), name: key.slice(dot + 1) };
};

/** Returns the key nearest to `key`; its last word counts twice as much as its section. */
const nearestKey = (key: string, keys: readonly string[]): string | undefined => {
  const target = split(key);
  const relative = (a: string, b: string) => distance(a, b) / Math.max(a.length, b.length, 1);
  const cost = (candidate: string) => {
    const { name, section } = split(candidate);
    return 2 * relative(target.name, name) + relative(target.section, section);
  };
  const ranked = keys.map((candidate) => ({ candidate, cost: cost(candidate) })).sort((a, b) => a.cost - b.cost);
  return ranked[0]?.candidate;
};

/** The shared context of a value's problems. */
interface ProblemContext {
  readonly schema: Schema.Codec<unknown, unknown>;
  readonly value: unknown;
  readonly options: DecodeOptions;
  /** Returns every valid key, for hints. */
  readonly validKeys: () => readonly string[];
}

/** Describes a value under the unknown key or section `path`. */
const unknownKey = ({ options, schema, validKeys }: ProblemContext, path: Path, leaf: Path): string => {
  const prefix = options.section ?? [];
  const siblings = sectionKeys(schemaAt(schema.ast, path.slice(0, -1)) ?? schema.ast);
  const section = [...prefix, ...path.slice(0, -1)];
  const siblingsText = section.length === 0 ? "top-level sections" : `keys of ${showKey(section)}`;
  const key = [...prefix, ...leaf];
  const nearest = nearestKey(key.join("."), validKeys());
  const place = options.origin?.(leaf) ?? null;
  const where = place === null ? "" : ` (${place})`;
  const hint = nearest === undefined ? "" : `; nearest: ${nearest}`;
  return `${showKey(key)}: unknown key${where}${hint}; ${siblingsText}: ${choices(path.at(-1) ?? "", siblings, 5)}`;
};

/** Describes the valid values, the nearest first. `fallback` is the key's default. */
const expectedValues = (ast: SchemaAST.AST, value: unknown, fallback: unknown): string => {
  const { choices: names, nearest, text } = expectation(ast);
  if (names !== null && value !== undefined) {
    const sorted = byNearest(String(value), names);
    return `expected one of ${sorted.join(", ")}; nearest: ${sorted[0]}`;
  }
  const closest = typeof value === "number" ? nearest(value, typeof fallback === "number" ? fallback : null) : null;
  return `expected ${text}${closest === null ? "" : `; nearest: ${closest}`}`;
};

/** Returns the message of a check that has its own, or null. */
const customMessage = (issue: SchemaIssue.Issue): string | null => {
  if (issue._tag === "Filter") return customMessage(issue.issue);
  const message = issue._tag === "InvalidValue" ? issue.annotations?.message : undefined;
  return typeof message === "string" ? message : null;
};

const problem = ({ options, schema, value }: ProblemContext, { issue, path }: LocatedIssue): string => {
  const actual = valueAt(value, path);
  const prefix = options.section ?? [];
  const key = showKey([...prefix, ...path]);
  const place = options.origin?.(path) ?? null;
  const where = place === null ? "" : ` (${place})`;
  const ast = schemaAt(schema.ast, path);
  const expected =
    customMessage(issue) ??
    (ast === null ? "not a valid value" : expectedValues(ast, actual, get(defaultsOf(schema), path)));
  const parent = path.slice(0, -1);
  const list = valueAt(value, parent);
  if (issue._tag === "MissingKey" && Array.isArray(list)) {
    // The list is too short: the message names the list, not the missing item.
    const ast = schemaAt(schema.ast, parent);
    const expectedList = ast === null ? expected : expectedValues(ast, list, undefined);
    return `${showKey([...prefix, ...parent])}: ${showValue(list)}${where}: ${expectedList}`;
  }
  if (issue._tag === "MissingKey") return `${key}: missing${where}; ${expected}`;
  return `${key}: ${showValue(actual)}${where}: ${expected}`;
};

/** Drops sections that are null, which is how YAML reads an empty section. */
const withoutEmptySections = (ast: SchemaAST.AST | null, value: unknown): unknown => {
  if (ast === null || !isTree(value)) return value;
  const kept = Object.entries(value).flatMap(([key, inner]) => {
    const part = schemaAt(ast, [key]);
    return inner === null && part?._tag === "Objects" ? [] : [[key, withoutEmptySections(part, inner)] as const];
  });
  return Object.fromEntries(kept);
};

/** Lists the first problems of a failed decoding, one line each, and counts the keys that have others. */
export const explain = (
  schema: Schema.Codec<unknown, unknown>,
  value: unknown,
  { issue }: Schema.SchemaError,
  options: DecodeOptions = {},
): string => {
  let names: readonly string[] | null = null;
  const validKeys = () => {
    const prefix = options.section ?? [];
    names ??= [...keyInfos(schema).map(({ key }) => [...prefix, key].join(".")), ...(options.synonyms ?? [])];
    return names;
  };
  const context: ProblemContext = { schema, value, options, validKeys };
  const issues = innermostIssues(issue, []);
  const lines = new Set<string>();
  let others = 0;
  for (const located of issues) {
    const unknown = located.issue._tag === "UnexpectedKey" ? leaves(valueAt(value, located.path), located.path) : null;
    for (const leaf of unknown ?? [located]) {
      if (lines.size >= maxProblems) others++;
      else lines.add(unknown === null ? problem(context, located) : unknownKey(context, located.path, leaf.path));
    }
  }
  return listProblems([...lines], others);
};

/** Decodes `value`, or fails with all its problems. */
export const decode = <A>(
  schema: Schema.Codec<A, unknown>,
  value: unknown,
  options: DecodeOptions = {},
): Result.Result<A, BadInput> => {
  const sections = withoutEmptySections(schema.ast, value ?? {});
  const decoded = Schema.decodeUnknownResult(schema)(sections, { errors: "all", onExcessProperty: "error" });
  return Result.mapError(decoded, (error) => new BadInput({ message: explain(schema, sections, error, options) }));
};
