/**
 * Prints declarations as a reader of the package sees them: types under their exported names, function bodies left out, members of internal
 * base interfaces put in place. Properties lose the word `readonly`, which all of them have.
 */
import type { ESTree } from "rolldown/utils";
import { type Declaration, declarationOf, docCommentAt, initOf, keyOf, type SourceModule } from "./modules.ts";
import {
  constantType,
  errorFields,
  type SchemaScope,
  schemaOfTypeQuery,
  schemaType,
  structFields,
  structKeys,
} from "./schemas.ts";

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

interface Member {
  readonly name: string;
  /** The signature, and the docstring above it. */
  readonly signature: string;
  readonly text: string;
}

interface Members {
  readonly members: readonly Member[];
  readonly bases: readonly string[];
}

type Parameter = ESTree.ParamPattern;
type Callable = ESTree.ArrowFunctionExpression | ESTree.Function;

const isNode = (value: unknown): value is ESTree.Node =>
  typeof value === "object" && value !== null && "type" in value && "start" in value && typeof value.type === "string";

const childrenOf = (node: ESTree.Node): readonly ESTree.Node[] =>
  Object.entries(node)
    .filter(([key]) => key !== "parent")
    .flatMap(([, value]): readonly unknown[] => (Array.isArray(value) ? value : [value]))
    .filter(isNode);

const oneLine = (text: string): string => text.replace(/\s+/g, " ").replaceAll("< ", "<").replaceAll(" >", ">").trim();

const most = 100;

/** A bracketed list on one line, or on a line for each item where it is long. */
const bracketed = (before: string, items: readonly string[], behind: string): string => {
  const whole = `${before}(${items.join(", ")})${behind}`;
  return whole.length <= most || items.length === 0
    ? whole
    : `${before}(\n${items.map((item) => `  ${item},\n`).join("")})${behind}`;
};

const longestAlias = 100;

/** A parameter that is taken apart has no name; its type gives one. */
const nameFromType = (type: string): string => {
  const [, name = "options"] = /^(?:Pick<|Omit<|Readonly<)?(?:\w+\.)*(\w+)/.exec(type) ?? [];
  if (name.endsWith("Options")) return "options";
  return name.endsWith("Inputs") ? "inputs" : `${name.charAt(0).toLowerCase()}${name.slice(1)}`;
};

const literals = (node: ESTree.TSType | undefined): readonly string[] => {
  if (node?.type === "TSUnionType") return node.types.flatMap(literals);
  return node?.type === "TSLiteralType" && node.literal.type === "Literal" ? [String(node.literal.value)] : [];
};

export class TypePrinter {
  readonly #names: ReadonlyMap<string, string>;
  readonly #headed: ReadonlySet<string>;
  /** Internal declarations that printed types name. */
  readonly internal = new Map<string, Declaration>();

  /** `names` are the exported names of declarations; `headed` those of them that have a place of their own on the page. */
  constructor(names: ReadonlyMap<string, string>, headed: ReadonlySet<string>) {
    this.#names = names;
    this.#headed = headed;
  }

  /** The source text of a type, under exported names. */
  text(module: SourceModule, node: ESTree.Node, start: number = node.start): string {
    const edits = this.#edits(module, node).sort((a, b) => a.start - b.start);
    let at = start;
    let text = "";
    for (const edit of edits) {
      text += module.text.slice(at, edit.start) + edit.text;
      at = edit.end;
    }
    return text + module.text.slice(at, node.end);
  }

  #edits(module: SourceModule, node: ESTree.Node): Edit[] {
    const constant = constantType(this.#scope(module), node);
    if (constant !== undefined) return [{ start: node.start, end: node.end, text: constant }];
    const edits = childrenOf(node).flatMap((child) => this.#edits(module, child));
    if (node.type === "TSPropertySignature" && node.readonly)
      edits.push({ start: node.start, end: node.start + "readonly ".length, text: "" });
    if (node.type === "TSTypeReference") edits.push(...this.#renamed(module, node.typeName));
    if (node.type === "TSInterfaceHeritage") edits.push(...this.#renamed(module, node.expression));
    if (node.type === "TSTypeQuery") edits.push(...this.#renamed(module, node.exprName));
    return edits;
  }

  #renamed(module: SourceModule, node: ESTree.Node): readonly Edit[] {
    const declaration = declarationOf(module, node);
    if (declaration === undefined) return [];
    return [{ start: node.start, end: node.end, text: this.nameOf(declaration) }];
  }

  #scope(module: SourceModule): SchemaScope {
    return { module, nameOf: (declaration) => this.nameOf(declaration) };
  }

  /** The exported name of a declaration, or else its own, which is noted as internal. */
  nameOf(declaration: Declaration): string {
    const name = this.#names.get(keyOf(declaration));
    if (name === undefined) this.internal.set(keyOf(declaration), declaration);
    return name ?? declaration.name;
  }

  /** A function's name, parameters and result; undefined of anything else. */
  signature({ module, name: declared, value }: Declaration, name: string = declared): string | undefined {
    const callable = value?.type === "VariableDeclarator" ? value.init : value;
    if (callable?.type !== "ArrowFunctionExpression" && callable?.type !== "FunctionDeclaration") return undefined;
    const { params, returnType, typeParameters } = callable satisfies Callable;
    if (returnType == null) throw new Error(`${module.path}: give ${declared} the type of its result, for docs/api.md`);
    const generics = typeParameters == null ? "" : oneLine(this.text(module, typeParameters));
    const parameters = params.map((parameter) => this.#parameter(module, parameter));
    return bracketed(`${name}${generics}`, parameters, oneLine(this.text(module, returnType)));
  }

  #parameter(module: SourceModule, parameter: Parameter): string {
    if (parameter.type === "RestElement") {
      const type = parameter.typeAnnotation == null ? ": unknown[]" : this.text(module, parameter.typeAnnotation);
      return `...${parameter.argument.type === "Identifier" ? parameter.argument.name : "rest"}${oneLine(type)}`;
    }
    if (parameter.type === "TSParameterProperty") throw new Error(`${module.path}: a parameter declares a property`);
    const pattern = parameter.type === "AssignmentPattern" ? parameter.left : parameter;
    const isOptional = parameter.type === "AssignmentPattern" || Boolean(parameter.optional);
    const type = this.#parameterType(module, parameter, pattern);
    const name = pattern.type === "Identifier" ? pattern.name : nameFromType(type);
    return `${name}${isOptional ? "?" : ""}: ${type}`;
  }

  #parameterType(module: SourceModule, parameter: Parameter, pattern: ESTree.BindingPattern): string {
    if (pattern.typeAnnotation != null) return oneLine(this.text(module, pattern.typeAnnotation.typeAnnotation));
    if (parameter.type === "AssignmentPattern" && parameter.right.type === "Literal")
      return typeof parameter.right.value;
    throw new Error(`${module.path}: a parameter has no type, for docs/api.md`);
  }

  /** The code that declares a thing, without a body. */
  code(declaration: Declaration, name: string = declaration.name): string {
    const { module, type, value } = declaration;
    if (type?.type === "TSInterfaceDeclaration") return this.#interface(module, type, name);
    if (type?.type === "TSTypeAliasDeclaration") return `type ${name}${this.#alias(module, type)}`;
    if (value?.type === "ClassDeclaration") {
      const fields = errorFields(this.#scope(module), value).map((field) => `  ${field};\n`);
      return `class ${name} extends Error {\n${fields.join("")}}`;
    }
    const signature = this.signature(declaration, name);
    if (signature !== undefined) return `function ${signature}`;
    if (value?.type !== "VariableDeclarator" || value.id.typeAnnotation == null)
      throw new Error(`${module.path}: give ${declaration.name} a type, for docs/api.md`);
    return `const ${name}${this.text(module, value.id.typeAnnotation)}`;
  }

  /** A declaration in short: a function's signature, the type of a value, or a short alias; else its name. */
  summary(declaration: Declaration, name: string = declaration.name): string {
    const { module, type, value } = declaration;
    const signature = this.signature(declaration, name);
    if (signature !== undefined) return oneLine(signature).replace("( ", "(").replace(", )", ")");
    if (type?.type === "TSTypeAliasDeclaration" && structKeys(schemaOf(module, type)).length === 0) {
      const alias = oneLine(`${name}${this.#alias(module, type)}`);
      return alias.length <= longestAlias ? alias : name;
    }
    const annotation = value?.type === "VariableDeclarator" ? value.id.typeAnnotation : undefined;
    return annotation == null ? name : `${name}${oneLine(this.text(module, annotation))}`;
  }

  /** The names of an interface's members, or of an error's fields beside its message; none of anything else. */
  fieldNames({ module, type, value }: Declaration): readonly string[] {
    const fields =
      type?.type === "TSInterfaceDeclaration"
        ? this.#members(module, type).members.map(({ signature }) => signature)
        : value?.type === "ClassDeclaration"
          ? errorFields(this.#scope(module), value)
          : structKeys(schemaOf(module, type));
    const names = fields.flatMap((field) => /^[\w$]+\??/.exec(field) ?? []);
    return names.filter((name) => name !== "_tag" && name !== "message");
  }

  /** The interfaces that a union is made of, where each is one; undefined of any other type. */
  taggedMembers({ module, type }: Declaration): readonly Declaration[] | undefined {
    if (type?.type !== "TSTypeAliasDeclaration" || type.typeAnnotation.type !== "TSUnionType") return undefined;
    const members = type.typeAnnotation.types.map((member) =>
      member.type === "TSTypeReference" ? declarationOf(module, member.typeName) : undefined,
    );
    return members.every((member) => member?.type?.type === "TSInterfaceDeclaration")
      ? members.flatMap((m) => m ?? [])
      : undefined;
  }

  #alias(module: SourceModule, alias: ESTree.TSTypeAliasDeclaration): string {
    const expression = schemaOf(module, alias);
    if (expression !== undefined) return ` = ${schemaType(this.#scope(module), expression)}`.replace("= \n", "=\n");
    return this.text(module, alias, alias.id.end).replace(/;$/, "");
  }

  #interface(module: SourceModule, declaration: ESTree.TSInterfaceDeclaration, name: string): string {
    const generics = declaration.typeParameters === null ? "" : oneLine(this.text(module, declaration.typeParameters));
    const { members, bases } = this.#members(module, declaration);
    return `${headOf(`interface ${name}${generics}`, bases)} {\n${members.map(({ text }) => `  ${text}\n`).join("")}}`;
  }

  /** The members of an interface, its own before those of internal bases, and the bases that remain. */
  #members(module: SourceModule, { body, extends: heritage }: ESTree.TSInterfaceDeclaration): Members {
    const members = new Map(
      body.body.map((member) => this.#member(module, member)).map((printed) => [printed.name, printed]),
    );
    const bases: string[] = [];
    for (const base of heritage) {
      const inherited = this.#inherited(module, base);
      for (const member of inherited?.members ?? []) if (!members.has(member.name)) members.set(member.name, member);
      bases.push(...(inherited?.bases ?? [oneLine(this.text(module, base))]));
    }
    return { members: [...members.values()], bases };
  }

  #member(module: SourceModule, member: ESTree.TSSignature): Member {
    const comment = docCommentAt(module, member.start);
    const doc = comment === undefined ? "" : `${module.text.slice(comment.start, comment.end)}\n  `;
    const name =
      "key" in member && member.key.type === "Identifier"
        ? member.key.name
        : module.text.slice(member.start, member.end);
    const signature = this.text(module, member);
    return { name, signature, text: doc + signature };
  }

  /** The members that a heritage clause puts in place; undefined where the clause stays. */
  #inherited(module: SourceModule, { expression, typeArguments }: ESTree.TSInterfaceHeritage): Members | undefined {
    const utility =
      expression.type === "Identifier" && ["Omit", "Pick"].includes(expression.name) ? expression.name : null;
    const [whole, keys] = typeArguments?.params ?? [];
    const target = utility === null ? expression : whole?.type === "TSTypeReference" ? whole.typeName : undefined;
    const declaration = target === undefined ? undefined : declarationOf(module, target);
    if (declaration === undefined || this.#headed.has(keyOf(declaration))) return undefined;
    const chosen = new Set(literals(keys));
    const inherited = this.#membersOf(declaration);
    return (
      inherited && {
        ...inherited,
        members: inherited.members.filter(({ name }) => utility === null || chosen.has(name) === (utility === "Pick")),
      }
    );
  }

  #membersOf({ module, type }: Declaration): Members | undefined {
    if (type?.type === "TSInterfaceDeclaration") return this.#members(module, type);
    const schema = schemaOf(module, type);
    if (schema === undefined) return undefined;
    const members = structFields(this.#scope(module), schema).map(({ doc, name, signature }) => ({
      name,
      signature,
      text: `${doc === "" ? "" : `${doc}\n  `}${signature.replaceAll("\n", "\n  ")};`,
    }));
    return { members, bases: [] };
  }
}

/** The head of a long declaration goes on over more lines. */
const headOf = (head: string, bases: readonly string[]): string => {
  if (bases.length === 0) return head;
  const whole = `${head} extends ${bases.join(", ")}`;
  if (whole.length <= most) return whole;
  const lines = [`  extends`];
  for (const word of bases.join(", ").split(" ")) {
    const last = lines.pop() ?? "";
    lines.push(...(last.length + word.length >= most ? [last, `    ${word}`] : [`${last} ${word}`]));
  }
  return [head, ...lines].join("\n");
};

/** The schema that a type is read from: `type X = typeof X.Type`. */
const schemaOf = (module: SourceModule, type: Declaration["type"]): ESTree.Expression | undefined => {
  const name = type?.type === "TSTypeAliasDeclaration" ? schemaOfTypeQuery(type.typeAnnotation) : undefined;
  return name === undefined ? undefined : initOf(module.declarations.get(name));
};
