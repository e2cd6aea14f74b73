/** The TypeScript types of Effect schemas, read from the calls that make them, and the fields of tagged errors. */
import type { ESTree } from "rolldown/utils";
import { type Declaration, declarationOf, docCommentAt, initOf, type SourceModule } from "./modules.ts";

/** The module that a schema stands in, and the names under which readers know declarations. */
export interface SchemaScope {
  readonly module: SourceModule;
  readonly nameOf: (declaration: Declaration) => string;
}

/** The name `X` of `typeof X.Type`. */
export const schemaOfTypeQuery = (type: ESTree.TSType): string | undefined => {
  if (type.type !== "TSTypeQuery" || type.exprName.type !== "TSQualifiedName") return undefined;
  const { left, right } = type.exprName;
  return right.name === "Type" && left.type === "Identifier" ? left.name : undefined;
};

const plainTypes: ReadonlyMap<string, string> = new Map([
  ["String", "string"],
  ["NonEmptyString", "string"],
  ["Number", "number"],
  ["Finite", "number"],
  ["Int", "number"],
  ["Boolean", "boolean"],
  ["Defect", "unknown"],
]);

const unreadable = ({ module }: SchemaScope, { end, start }: ESTree.Node): Error =>
  new Error(`${module.path}: test/generators/api/schemas.ts cannot read ${module.text.slice(start, end)}`);

/** The name `X` of `Schema.X`. */
const constructorOf = (node: ESTree.Node): string | undefined =>
  node.type === "MemberExpression" &&
  node.property.type === "Identifier" &&
  node.object.type === "Identifier" &&
  node.object.name === "Schema"
    ? node.property.name
    : undefined;

/** Methods that check, annotate or default a schema, and leave its type. */
const refinements: ReadonlySet<string> = new Set(["pipe", "check", "annotate"]);

const refinedSchema = (callee: ESTree.Expression): ESTree.Expression | undefined =>
  callee.type === "MemberExpression" &&
  callee.property.type === "Identifier" &&
  refinements.has(callee.property.name) &&
  constructorOf(callee) === undefined
    ? callee.object
    : undefined;

/** Reads the value that a name stands for, in its own module. */
const readNamed = <A>(
  scope: SchemaScope,
  node: ESTree.Node,
  read: (scope: SchemaScope, value: ESTree.Node) => A,
): A => {
  const declaration = declarationOf(scope.module, node);
  const value = initOf(declaration);
  if (declaration === undefined || value === undefined) throw unreadable(scope, node);
  return read({ ...scope, module: declaration.module }, value);
};

const literalType = (scope: SchemaScope, node: ESTree.Node): string =>
  node.type === "Literal" ? JSON.stringify(node.value) : readNamed(scope, node, literalType);

/** The types of a list of literals; lists inside of it are spread. */
const literalTypes = (scope: SchemaScope, node: ESTree.Node): readonly string[] => {
  if (node.type === "TSAsExpression") return literalTypes(scope, node.expression);
  // A list that is computed has no literals to read.
  if (node.type === "CallExpression") return ["string"];
  if (node.type !== "ArrayExpression") return readNamed(scope, node, literalTypes);
  return node.elements.flatMap((element) => {
    if (element === null) return [];
    return element.type === "SpreadElement" ? literalTypes(scope, element.argument) : [literalType(scope, element)];
  });
};

/** The literals behind `typeof X` and `(typeof X)[number]` of a constant; undefined of any other type. */
export const constantType = (scope: SchemaScope, node: ESTree.Node): string | undefined => {
  const isItem = node.type === "TSIndexedAccessType" && node.indexType.type === "TSNumberKeyword";
  const target = isItem ? node.objectType : node;
  const query = target.type === "TSParenthesizedType" ? target.typeAnnotation : target;
  if (query.type !== "TSTypeQuery") return undefined;
  const value = initOf(declarationOf(scope.module, query.exprName));
  if (isItem) return literalTypes(scope, query.exprName).join(" | ");
  return value?.type === "Literal" ? literalType(scope, query.exprName) : undefined;
};

/** A field of an object of schemas. */
export interface SchemaField {
  readonly name: string;
  /** The comment with its stars; empty where there is none. */
  readonly doc: string;
  readonly signature: string;
}

/** The struct `X` of the spread `...X.fields`. */
const spreadStruct = ({ argument }: ESTree.SpreadElement): ESTree.Expression | undefined =>
  argument.type === "MemberExpression" && argument.property.type === "Identifier" && argument.property.name === "fields"
    ? argument.object
    : undefined;

const objectFields = (scope: SchemaScope, node: ESTree.Node | undefined): readonly SchemaField[] => {
  if (node?.type !== "ObjectExpression") return [];
  return node.properties.flatMap((property) => {
    const struct = property.type === "SpreadElement" ? spreadStruct(property) : undefined;
    if (struct !== undefined) return readNamed(scope, struct, structFields);
    if (property.type !== "Property" || property.key.type !== "Identifier") throw unreadable(scope, property);
    const { key, value } = property;
    const { module } = scope;
    const comment = docCommentAt(module, property.start);
    const doc = comment === undefined ? "" : module.text.slice(comment.start, comment.end);
    const isOptional = value.type === "CallExpression" && constructorOf(value.callee) === "optionalKey";
    return [{ name: key.name, doc, signature: `${key.name}${isOptional ? "?" : ""}: ${schemaType(scope, value)}` }];
  });
};

/** The fields of a struct; none of another schema. */
export const structFields = (scope: SchemaScope, node: ESTree.Node): readonly SchemaField[] => {
  if (node.type !== "CallExpression") return [];
  const inner = refinedSchema(node.callee);
  if (inner !== undefined) return structFields(scope, inner);
  return constructorOf(node.callee) === "Struct" ? objectFields(scope, node.arguments[0]) : [];
};

/** Fields with comments stand on lines of their own. */
const objectType = (fields: readonly SchemaField[]): string => {
  if (fields.length === 0) return "{}";
  const signatures = fields.map(({ signature }) => signature);
  if (fields.every(({ doc }) => doc === "") && signatures.join("; ").length < 90) return `{ ${signatures.join("; ")} }`;
  const lines = fields.map(({ doc, signature }) => (doc === "" ? `${signature};` : `${doc}\n${signature};`));
  return `{\n${lines.join("\n").replace(/^(?=.)/gm, "  ")}\n}`;
};

/** The names of a struct's fields; none of another schema. */
export const structKeys = (node: ESTree.Node | undefined): readonly string[] => {
  if (node?.type !== "CallExpression") return [];
  const inner = refinedSchema(node.callee);
  if (inner !== undefined) return structKeys(inner);
  const [fields] = node.arguments;
  if (constructorOf(node.callee) !== "Struct" || fields?.type !== "ObjectExpression") return [];
  return fields.properties.flatMap((property) =>
    property.type === "Property" && property.key.type === "Identifier" ? [property.key.name] : [],
  );
};

const taggedUnion = (scope: SchemaScope, node: ESTree.Node | undefined): string => {
  if (node?.type !== "ObjectExpression") return "never";
  const members = node.properties.map((property) => {
    if (property.type !== "Property" || property.key.type !== "Identifier") throw unreadable(scope, property);
    const { module } = scope;
    const comment = docCommentAt(module, property.start);
    const doc = comment === undefined ? "" : `\n  ${module.text.slice(comment.start, comment.end)}`;
    const tag: SchemaField = { name: "_tag", doc: "", signature: `_tag: "${property.key.name}"` };
    const fields = [tag, ...objectFields(scope, property.value)];
    return `${doc}\n  | ${objectType(fields)}`;
  });
  return members.join("");
};

/** The type of the values that a schema decodes to. */
export const schemaType = (scope: SchemaScope, node: ESTree.Node): string => {
  const plain = plainTypes.get(constructorOf(node.type === "CallExpression" ? node.callee : node) ?? "");
  if (plain !== undefined) return plain;
  if (node.type !== "CallExpression") return namedSchema(scope, node);
  const inner = refinedSchema(node.callee);
  if (inner !== undefined) return schemaType(scope, inner);
  const types = () => node.arguments.map((argument) => schemaType(scope, argument));
  const [first] = node.arguments;
  switch (constructorOf(node.callee)) {
    case "Struct":
      return objectType(objectFields(scope, first));
    case "TaggedUnion":
      return taggedUnion(scope, first);
    case "Literal":
      return first === undefined ? "never" : literalType(scope, first);
    case "Literals":
      return first === undefined ? "never" : literalTypes(scope, first).join(" | ");
    case "Array":
      return `readonly ${types().join()}[]`;
    case "NullOr":
      return `${types().join()} | null`;
    case "optionalKey":
      return types().join();
    case "Record":
      return `Record<${types().join(", ")}>`;
    case "HashMap":
      return `HashMap.HashMap<${types().join(", ")}>`;
    default:
      throw unreadable(scope, node);
  }
};

/** A schema by name: its type's name, or what it is made of where it has none. */
const namedSchema = (scope: SchemaScope, node: ESTree.Node): string => {
  const declaration = declarationOf(scope.module, node);
  if (declaration?.type !== undefined) return scope.nameOf(declaration);
  return readNamed(scope, node, schemaType);
};

/** The fields of an error that `Schema.TaggedError` makes. */
export const errorFields = (scope: SchemaScope, { superClass }: ESTree.Class): readonly string[] => {
  if (superClass?.type !== "CallExpression") return [];
  const [tag, fields] = superClass.arguments;
  if (tag === undefined) return [];
  return [`_tag: ${literalType(scope, tag)}`, ...objectFields(scope, fields).map(({ signature }) => signature)];
};
