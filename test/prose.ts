/**
 * Reads the prose of the house: comments of source texts and paragraphs of pages, cut into sentences. Names come from the syntax tree.
 */
import { parseSync, Visitor } from "rolldown/utils";
import type { SourceFile } from "./imports.ts";

/** A text with the line on which it begins, counted from 1. */
export interface Passage {
  readonly line: number;
  readonly text: string;
}

const lineOf = (text: string, offset: number): number => text.slice(0, offset).split("\n").length;

/** Directives of tools, and lines that only divide a file. */
const isDirective = (text: string): boolean =>
  text === "" || /^(biome-ignore|@vite-ignore|@__|c8 |<reference|-{2,})/.test(text);

/** The comments of a source text. Line comments that follow one another are one comment. */
export const commentsIn = ({ path, text }: SourceFile): readonly Passage[] => {
  const passages: { start: number; end: number; text: string; isLine: boolean }[] = [];
  for (const { end, start, type, value } of parseSync(path, text).comments) {
    const last = passages.at(-1);
    const isLine = type === "Line";
    if (isLine && last?.isLine === true && /^[ \t]*\n[ \t]*$/.test(text.slice(last.end, start))) {
      last.text += `\n${value}`;
      last.end = end;
    } else passages.push({ start, end, text: value, isLine });
  }
  return passages
    .map((passage) => ({
      line: lineOf(text, passage.start),
      text: passage.text
        .replace(/^\s*\*+ ?/gm, "")
        .replace(/\s+/g, " ")
        .trim(),
    }))
    .filter((passage) => !isDirective(passage.text));
};

/** Paragraphs, items and table cells of a page; code and headings are left out. */
export const paragraphsIn = (page: string): readonly Passage[] => {
  const passages: { line: number; text: string }[] = [];
  let isCode = false;
  let goesOn = false;
  for (const [index, line] of page.split("\n").entries()) {
    if (/^\s*```/.test(line)) isCode = !isCode;
    const isText = !isCode && !/^\s*(```|#|<|\||$)/.test(line);
    const last = passages.at(-1);
    if (/^\s*\|/.test(line) && !isCode) {
      for (const cell of line.split("|")) passages.push({ line: index + 1, text: cell.trim() });
    } else if (isText && goesOn && last !== undefined && !/^\s*([-*]|\d+\.) /.test(line))
      last.text += ` ${line.trim()}`;
    else if (isText) passages.push({ line: index + 1, text: line.trim().replace(/^([-*]|\d+\.) /, "") });
    goesOn = isText;
  }
  return passages.filter(({ text }) => text !== "");
};

/** The sentences of a text; a semicolon or a colon ends one too. Full stops inside of code and numbers end none. */
export const sentencesIn = (text: string): readonly string[] =>
  text
    .replaceAll(/`[^`]*`/g, (code) => code.replaceAll(/\s+/g, "_"))
    .replaceAll(/\]\([^)]*\)/g, "]")
    .split(/(?<=[.!?;:])\s+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== "");

export const wordsIn = (sentence: string): number =>
  sentence.split(/\s+/).filter((word) => /[\p{L}\d]/u.test(word)).length;

/** A name that a source text declares. */
export interface DeclaredName {
  readonly line: number;
  readonly name: string;
}

/** A node that declares names: an identifier, or a pattern around some. */
interface Pattern {
  readonly type: string;
  readonly start: number;
  readonly name?: string;
  readonly left?: Pattern;
  readonly argument?: Pattern;
  readonly elements?: readonly (Pattern | null)[];
  readonly properties?: readonly PatternProperty[];
}

interface PatternProperty extends Pattern {
  readonly shorthand?: boolean;
  readonly value?: Pattern;
}

/** The identifiers that a pattern names itself; a shorthand has the name of the property that it takes. */
const identifiersIn = (pattern: Pattern): readonly Pattern[] => {
  if (pattern.type === "Identifier") return [pattern];
  const { argument, elements = [], left, properties = [] } = pattern;
  const values = properties.flatMap((property) =>
    property.type === "RestElement" ? [property] : property.shorthand === true ? [] : [property.value],
  );
  return [left, argument, ...elements, ...values].flatMap((part) => (part == null ? [] : identifiersIn(part)));
};

/** The names of variables, parameters, functions, classes and types that a source text declares. */
export const namesIn = ({ path, text }: SourceFile): readonly DeclaredName[] => {
  const names: DeclaredName[] = [];
  const add = (node: unknown): void => {
    for (const { name = "", start } of identifiersIn(node as Pattern)) names.push({ line: lineOf(text, start), name });
  };
  new Visitor({
    VariableDeclarator: ({ id }) => add(id),
    FunctionDeclaration: ({ id, params }) => [...(id === null ? [] : [id]), ...params].forEach(add),
    FunctionExpression: ({ params }) => params.forEach(add),
    ArrowFunctionExpression: ({ params }) => params.forEach(add),
    ClassDeclaration: ({ id }) => id !== null && add(id),
    TSInterfaceDeclaration: ({ id }) => add(id),
    TSTypeAliasDeclaration: ({ id }) => add(id),
  }).visit(parseSync(path, text).program);
  return names;
};
