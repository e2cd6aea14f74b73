/**
 * Reads a row of a data file as a theorem ready for tactics: imports, openings and a statement that ends in `by`. It also joins theorem and
 * tactics into the script that Lean checks. Invariant: all lines of a tactic are indented, so that it stays inside the proof.
 */
import { Result, Schema } from "effect";
import { filesOf } from "../dataset/DataFiles.ts";
import type { RowForm, Source } from "../dataset/Source.ts";
import type { LeanConfig } from "./LeanConfig.ts";

export interface Theorem {
  readonly name: string;
  /** The import lines; empty takes the configured default. */
  readonly imports: string;
  /** The lines between the imports and the statement. */
  readonly preamble: string;
  readonly statement: string;
  /** The statement in words; may be empty. */
  readonly informal: string;
}

const Fields = Schema.Struct({
  formal: Schema.String,
  name: Schema.optionalKey(Schema.Unknown),
  id: Schema.optionalKey(Schema.Unknown),
  informal: Schema.optionalKey(Schema.Unknown),
  header: Schema.optionalKey(Schema.Unknown),
});
type Fields = typeof Fields.Type;

const declaration = /^\s*(theorem|lemma|def|example|instance)\b/;
const importing = /^\s*import\b/;

/** Splits a text into imports, the other lines before the first declaration, and everything from it on. */
const sectionsOf = (text: string): Pick<Theorem, "imports" | "preamble" | "statement"> => {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const first = lines.findIndex((line) => declaration.test(line));
  const before = first < 0 ? lines : lines.slice(0, first);
  const join = (group: readonly string[]): string => group.join("\n").trim();
  return {
    imports: join(before.filter((line) => importing.test(line))),
    preamble: join(before.filter((line) => !importing.test(line))),
    statement: first < 0 ? "" : join(lines.slice(first)),
  };
};

/** Ends a statement where its tactics begin: it removes a proof by `sorry`, and adds a missing `by`. */
const withOpenProof = (statement: string): string => {
  const bare = statement.replace(/:=\s*(by\s+)?sorry$/, ":= by");
  if (/\bby$/.test(bare)) return bare;
  if (bare.endsWith(":=")) return `${bare} by`;
  return bare.includes(":=") ? bare : `${bare} := by`;
};

const textOf = (value: unknown): string => (typeof value === "string" ? value.trim() : "");

const nameOf = ({ id, name }: Fields, statement: string): string => {
  const given = [name, id].find((value) => typeof value === "number" || textOf(value) !== "");
  return given === undefined ? (/^\s*(?:theorem|lemma)\s+(\S+)/.exec(statement)?.[1] ?? "theorem") : String(given);
};

/** The theorem of a row, or the reason why it has none. */
export const theoremOf = (fields: Fields): Result.Result<Theorem, string> => {
  const formal = sectionsOf(fields.formal);
  if (formal.statement === "") return Result.fail("no theorem, lemma, def, example or instance in the statement");
  const header = sectionsOf(textOf(fields.header));
  const both = (a: string, b: string): string => [a, b].filter((part) => part !== "").join("\n");
  return Result.succeed({
    name: nameOf(fields, formal.statement),
    imports: both(header.imports, formal.imports),
    preamble: both(both(header.preamble, header.statement), formal.preamble),
    statement: withOpenProof(formal.statement),
    informal: textOf(fields.informal),
  });
};

const form: RowForm<Fields, Theorem> = { schema: Fields, row: theoremOf, key: ({ formal }) => formal.trim() };

export const sourceOf = (config: LeanConfig): Source<Fields, Theorem> => ({
  files: filesOf(config),
  columns: {
    formal: { name: config.columns.formal, required: true },
    name: { name: config.columns.name, required: false },
    id: { name: "id", required: false },
    informal: { name: config.columns.informal, required: false },
    header: { name: config.columns.header, required: false },
  },
  form,
});

const linesOf = (text: string): readonly string[] => (text.trim() === "" ? [] : text.trim().split("\n"));

/** Indents all lines of a tactic. RAGEN indents the first line only, which breaks a tactic of several lines. */
const indentLines = (tactic: string): readonly string[] => linesOf(tactic).map((line) => `  ${line}`.trimEnd());

/** The lines that Lean checks: imports, preamble and statement, with blank lines between them, then the tactics. */
export const scriptOf = (config: LeanConfig, theorem: Theorem, tactics: readonly string[]): readonly string[] => {
  const head = [linesOf(theorem.imports || config.default_imports), linesOf(theorem.preamble)]
    .filter((lines) => lines.length > 0)
    .flatMap((lines) => [...lines, ""]);
  return [...head, ...linesOf(theorem.statement), ...tactics.flatMap(indentLines)];
};
