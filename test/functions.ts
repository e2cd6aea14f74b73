/**
 * The functions of a source text, read from its syntax tree: declarations, expressions, arrows, methods and generators, nested ones too.
 * A class is no function, its methods are. Lengths are in lines, from a function's first to its last, comments and blanks included.
 */
import { parseSync, Visitor } from "rolldown/utils";
import type { SourceFile } from "./imports.ts";

export interface FunctionSpan {
  /** 1-based line on which the function begins. */
  readonly line: number;
  readonly lines: number;
}

interface Node {
  readonly start: number;
  readonly end: number;
}

/** The functions of a file, in the order of their first characters. Throws where the text does not parse. */
export const functionsOf = ({ path, text }: SourceFile): readonly FunctionSpan[] => {
  const { errors, program } = parseSync(path, text);
  const [error] = errors;
  if (error !== undefined) throw new Error(`${path}: ${error.message}`);
  const starts = [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)];
  const lineAt = (offset: number): number => starts.findLastIndex((start) => start <= offset) + 1;
  const found: Node[] = [];
  const add = (node: Node): void => void found.push(node);
  new Visitor({ FunctionDeclaration: add, FunctionExpression: add, ArrowFunctionExpression: add }).visit(program);
  return found
    .sort((a, b) => a.start - b.start)
    .map(({ end, start }) => ({ line: lineAt(start), lines: lineAt(end) - lineAt(start) + 1 }));
};
