/**
 * Source modules as the documentation of the package reads them: their declarations with docstrings, and the names that they import and export.
 * Invariant: a name resolves to the declaration itself, in whatever file it stands; a name of another package resolves to nothing.
 */
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { type ESTree, type ParseResult, parseSync } from "rolldown/utils";
import { packageRoot } from "../../../src/support/files/packageRoot.ts";

type Comment = ParseResult["comments"][number];

/** A top-level declaration: a value, a type, or both under one name. */
export interface Declaration {
  readonly module: SourceModule;
  readonly name: string;
  readonly value?: ValueDeclaration;
  readonly type?: ESTree.TSInterfaceDeclaration | ESTree.TSTypeAliasDeclaration;
  /** The docstring, as it stands between its stars; empty where there is none. */
  readonly doc: string;
}

export type ValueDeclaration = ESTree.VariableDeclarator | ESTree.Class | ESTree.Function;

/** The target of an import or a re-export; without a name it is the whole module. */
interface Target {
  readonly path: string;
  readonly name?: string;
}

export interface SourceModule {
  /** The path from the root of the repository. */
  readonly path: string;
  readonly text: string;
  readonly comments: readonly Comment[];
  /** The head of the file. */
  readonly doc: string;
  readonly declarations: ReadonlyMap<string, Declaration>;
  readonly imports: ReadonlyMap<string, Target>;
  /** Exported names in the order of the file; a declaration of this module has its own path as target. */
  readonly exports: ReadonlyMap<string, Target>;
}

/** The text of a comment without its stars. */
const commentText = ({ value }: Comment): string => value.replace(/^\s*\*+ ?/gm, "").trim();

/** The block comment `/** … *\/` that ends where the syntax at `start` begins. */
export const docCommentAt = ({ comments, text }: Pick<SourceModule, "comments" | "text">, start: number) =>
  comments.findLast(
    ({ end, type, value }) =>
      end <= start &&
      type === "Block" &&
      value.startsWith("*") &&
      /^\s*$/.test(text.slice(end, start)) &&
      !/\n\s*\n/.test(text.slice(end, start)),
  );

const docAt = (module: Pick<SourceModule, "comments" | "text">, start: number): string => {
  const comment = docCommentAt(module, start);
  return comment === undefined ? "" : commentText(comment);
};

const textName = (name: ESTree.ModuleExportName): string => (name.type === "Literal" ? name.value : name.name);

/** The path of an imported file; undefined for a package. */
const pathFrom = (module: string, { value }: ESTree.StringLiteral): string | undefined =>
  value.startsWith(".") ? posix.join(posix.dirname(module), value) : undefined;

type Declared = Pick<Declaration, "name" | "type" | "value">;

/** The names that one statement declares. */
const declaredBy = (statement: ESTree.Statement | ESTree.Declaration): readonly Declared[] => {
  switch (statement.type) {
    case "TSInterfaceDeclaration":
    case "TSTypeAliasDeclaration":
      return [{ name: statement.id.name, type: statement }];
    case "ClassDeclaration":
    case "FunctionDeclaration":
      return statement.id === null ? [] : [{ name: statement.id.name, value: statement }];
    case "VariableDeclaration":
      return statement.declarations.flatMap((value) =>
        value.id.type === "Identifier" ? [{ name: value.id.name, value }] : [],
      );
    default:
      return [];
  }
};

const importsOf = (path: string, program: ESTree.Program): ReadonlyMap<string, Target> => {
  const imports = new Map<string, Target>();
  for (const statement of program.body) {
    if (statement.type !== "ImportDeclaration") continue;
    const from = pathFrom(path, statement.source);
    if (from === undefined) continue;
    for (const specifier of statement.specifiers) {
      const target =
        specifier.type === "ImportSpecifier" ? { path: from, name: textName(specifier.imported) } : { path: from };
      imports.set(specifier.local.name, target);
    }
  }
  return imports;
};

const exportsOf = (path: string, program: ESTree.Program): ReadonlyMap<string, Target> => {
  const exports = new Map<string, Target>();
  for (const statement of program.body) {
    if (statement.type === "ExportAllDeclaration" && statement.exported !== null) {
      const from = pathFrom(path, statement.source);
      if (from !== undefined) exports.set(textName(statement.exported), { path: from });
    }
    if (statement.type !== "ExportNamedDeclaration") continue;
    const from = statement.source === null ? path : pathFrom(path, statement.source);
    for (const { name } of statement.declaration === null ? [] : declaredBy(statement.declaration))
      exports.set(name, { path, name });
    if (from === undefined) continue;
    for (const { exported, local } of statement.specifiers)
      exports.set(textName(exported), { path: from, name: textName(local) });
  }
  return exports;
};

const parse = (path: string): SourceModule => {
  const text = readFileSync(join(packageRoot, path), "utf8");
  const { comments, errors, program } = parseSync(path, text);
  const [error] = errors;
  if (error !== undefined) throw new Error(`${path}: ${error.message}`);
  const declarations = new Map<string, Declaration>();
  const [head] = comments;
  const module: SourceModule = {
    path,
    text,
    comments,
    doc: head === undefined ? "" : commentText(head),
    declarations,
    imports: importsOf(path, program),
    exports: exportsOf(path, program),
  };
  for (const statement of program.body) {
    const inner = statement.type === "ExportNamedDeclaration" ? (statement.declaration ?? statement) : statement;
    for (const declared of declaredBy(inner)) {
      const before = declarations.get(declared.name);
      const doc = before?.doc || docAt(module, statement.start);
      declarations.set(declared.name, { ...before, ...declared, module, doc });
    }
  }
  return module;
};

const modules = new Map<string, SourceModule>();

/** The module of a path from the root of the repository, parsed once. */
export const moduleAt = (path: string): SourceModule => {
  const module = modules.get(path) ?? parse(path);
  modules.set(path, module);
  return module;
};

/** A declaration, or the whole module that a namespace stands for. */
export type Resolved = Declaration | SourceModule;

export const isModule = (resolved: Resolved): resolved is SourceModule => "declarations" in resolved;

const follow = ({ name, path }: Target): Resolved | undefined =>
  name === undefined ? moduleAt(path) : resolve(moduleAt(path), name);

/** The thing that a name means inside a module, or to those who import it from there. */
export const resolve = (module: SourceModule, name: string): Resolved | undefined => {
  const declaration = module.declarations.get(name);
  if (declaration !== undefined) return declaration;
  const target = module.imports.get(name) ?? module.exports.get(name);
  return target === undefined ? undefined : follow(target);
};

/** Everything that a module exports, by name. */
export const exportedFrom = (module: SourceModule): ReadonlyMap<string, Resolved> =>
  new Map(
    [...module.exports].map(([name, target]) => {
      const resolved = target.path === module.path ? module.declarations.get(target.name ?? name) : follow(target);
      const found = resolved ?? resolve(module, target.name ?? name);
      if (found === undefined) throw new Error(`${module.path}: the export ${name} has no declaration`);
      return [name, found];
    }),
  );

/** A declaration's key among all of the repository. */
export const keyOf = ({ module, name }: Declaration): string => `${module.path}#${name}`;

const resolvedBy = (module: SourceModule, node: ESTree.Node): Resolved | undefined => {
  if (node.type === "Identifier") return resolve(module, node.name);
  const [left, right] =
    node.type === "TSQualifiedName"
      ? [node.left, node.right]
      : node.type === "MemberExpression"
        ? [node.object, node.property]
        : [];
  if (left === undefined || right?.type !== "Identifier") return undefined;
  const outer = resolvedBy(module, left);
  return outer !== undefined && isModule(outer) ? resolve(outer, right.name) : undefined;
};

/** The declaration that a name, or a name behind a namespace, stands for. */
export const declarationOf = (module: SourceModule, node: ESTree.Node): Declaration | undefined => {
  const resolved = resolvedBy(module, node);
  return resolved === undefined || isModule(resolved) ? undefined : resolved;
};

/** The expression that a value begins as. */
export const initOf = (declaration: Declaration | undefined): ESTree.Expression | undefined => {
  const value = declaration?.value;
  return value?.type === "VariableDeclarator" ? (value.init ?? undefined) : undefined;
};
