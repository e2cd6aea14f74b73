/**
 * Decodes plain data strictly by a schema: unknown keys are errors too. Each problem becomes one line that names the full key, the value
 * and the nearest valid choice. Environments decode their `env_config` with the same function.
 */
import { Result, Schema, type SchemaAST, type SchemaIssue } from "effect";
import { BadInput } from "../domain/Errors.ts";
import { defaultsOf, expectation, keyInfos, schemaAt, sectionKeys } from "./describe.ts";
import { byNearest, choices, distance } from "./nearest.ts";
import { listProblems, maxProblems, showKey, showValue } from "./show.ts";
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

interface LocatedIssue {
  readonly path: Path;
  readonly issue: SchemaIssue.Issue;
}

/** The innermost issues with their paths. */
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

/** What the problems of one value have in common. */
interface ProblemContext {
  readonly schema: Schema.Codec<unknown, unknown>;
  readonly value: unknown;
  readonly options: DecodeOptions;
  /** Every valid key, for hints. */
  readonly validKeys: () => readonly string[];
}

/** The problem of a value under an unknown key or section `path`. */
const unknownKey = ({ options, schema, validKeys }: ProblemContext, path: Path, leaf: Path): string => {
  const prefix = options.section ?? [];
  const siblings = sectionKeys(schemaAt(schema.ast, path.slice(0, -1)) ?? schema.ast);
  const section = [...prefix, ...path.slice(0, -1)];
  const all = section.length === 0 ? "top-level sections" : `keys of ${showKey(section)}`;
  const key = [...prefix, ...leaf];
  const nearest = nearestKey(key.join("."), validKeys());
  const place = options.origin?.(leaf) ?? null;
  const where = place === null ? "" : ` (${place})`;
  const hint = nearest === undefined ? "" : `; nearest: ${nearest}`;
  return `${showKey(key)}: unknown key${where}${hint}; ${all}: ${choices(path.at(-1) ?? "", siblings, 40)}`;
};

/** The valid values for a message, the nearest first. `fallback` is the key's default. */
const expectedValues = (ast: SchemaAST.AST, value: unknown, fallback: unknown): string => {
  const { choices: names, nearest, text } = expectation(ast);
  if (names !== null && value !== undefined) {
    const sorted = byNearest(String(value), names);
    return `expected one of ${sorted.join(", ")}; nearest: ${sorted[0]}`;
  }
  const closest = typeof value === "number" ? nearest(value, typeof fallback === "number" ? fallback : null) : null;
  return `expected ${text}${closest === null ? "" : `; nearest: ${closest}`}`;
};

/** The message of a check that brings its own, or null. */
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
    const wanted = ast === null ? expected : expectedValues(ast, list, undefined);
    return `${showKey([...prefix, ...parent])}: ${showValue(list)}${where}: ${wanted}`;
  }
  if (issue._tag === "MissingKey") return `${key}: missing${where}; ${expected}`;
  return `${key}: ${showValue(actual)}${where}: ${expected}`;
};

/** Without sections that are null, as empty sections of a YAML file are read. */
const withoutEmptySections = (ast: SchemaAST.AST | null, value: unknown): unknown => {
  if (ast === null || !isTree(value)) return value;
  const kept = Object.entries(value).flatMap(([key, inner]) => {
    const part = schemaAt(ast, [key]);
    return inner === null && part?._tag === "Objects" ? [] : [[key, withoutEmptySections(part, inner)] as const];
  });
  return Object.fromEntries(kept);
};

/** The problems of a failed strict decoding of `value`, one line each: the first ones, and how many keys have others. */
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
  const found = innermostIssues(issue, []);
  const lines = new Set<string>();
  let others = 0;
  for (const one of found) {
    const unknown = one.issue._tag === "UnexpectedKey" ? leaves(valueAt(value, one.path), one.path) : null;
    for (const leaf of unknown ?? [one]) {
      if (lines.size >= maxProblems) others++;
      else lines.add(unknown === null ? problem(context, one) : unknownKey(context, one.path, leaf.path));
    }
  }
  return listProblems([...lines], others);
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
