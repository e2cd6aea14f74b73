/** Reads YAML text as plain data: maps with text keys, lists, texts, numbers, booleans and null. Aliases share their value. */
import { Result } from "effect";
import { type Document, isAlias, isCollection, isNode, isScalar, parseDocument, visit, type YAMLMap } from "yaml";
import { showText, showValue } from "./show.ts";

/** Limits of one text. `characters` and `values` also bound all files and all settings of a run together. */
export const limits = { characters: 262_144, values: 50_000, depth: 32, aliases: 100 } as const;

export interface YamlProblem {
  readonly problem: string;
  /** Offset in the text, if known. */
  readonly offset: number | null;
}

class YamlRefusal {
  readonly problem: YamlProblem;
  constructor(problem: string, offset: number | null = null) {
    this.problem = { problem, offset };
  }
}

const positionOf = (node: unknown): number | null => (isNode(node) && node.range?.[0]) || null;

const tooDeep = `more than ${limits.depth} levels of lists and maps`;

/** Refuses keys that are no text or are repeated. The library's own check takes quadratic time. */
const checkKeys = (document: Document, { items }: YAMLMap): void => {
  const names = new Set<string>();
  for (const { key: written } of items) {
    const key = isAlias(written) ? written.resolve(document) : written;
    if (isCollection(key)) throw new YamlRefusal("a list or map as a key", positionOf(written));
    const name = String((isScalar(key) ? key.value : null) ?? "");
    if (name === "__proto__") throw new YamlRefusal(`${showValue(name)} cannot be a key`, positionOf(written));
    if (names.has(name))
      throw new YamlRefusal(`the key ${showValue(name)} is given twice, keys must be unique`, positionOf(written));
    names.add(name);
  }
};

const checkNodes = (document: Document): void =>
  visit(document, {
    Alias: (_, alias, path) => {
      const containsItself = path.some((node) => isNode(node) && "anchor" in node && node.anchor === alias.source);
      if (containsItself) throw new YamlRefusal("an alias inside of what it stands for", positionOf(alias));
    },
    Map: (_, map) => checkKeys(document, map),
    // There is no negative zero.
    Scalar: (_, scalar) => {
      if (scalar.value === 0) scalar.value = 0;
    },
  });

const isDeeperThan = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeperThan(inner, levels - 1)));

/** Throws `YamlRefusal`, the library's `ReferenceError` for aliases, or `RangeError` if nesting exhausts the stack. */
const parse = (text: string): unknown => {
  const document = parseDocument(text, { prettyErrors: false, uniqueKeys: false });
  const [error] = document.errors;
  if (document.errors.some(({ message }) => message.includes("call stack"))) throw new YamlRefusal(tooDeep);
  if (error !== undefined) throw new YamlRefusal(showText(error.message, 120), error.pos[0]);
  checkNodes(document);
  const value: unknown = document.toJS({ maxAliasCount: limits.aliases });
  if (isDeeperThan(value, limits.depth)) throw new YamlRefusal(tooDeep);
  return value;
};

const aliasProblem = ({ message }: ReferenceError): string =>
  message.startsWith("Excessive")
    ? `more than ${limits.aliases} aliases of one anchor, those of what it stands for counted`
    : showText(message, 120);

export const readYaml = (text: string): Result.Result<unknown, YamlProblem> => {
  if (text.length > limits.characters)
    return Result.fail({ problem: `more than ${limits.characters} characters`, offset: null });
  try {
    return Result.succeed(parse(text));
  } catch (error) {
    if (error instanceof YamlRefusal) return Result.fail(error.problem);
    if (error instanceof RangeError) return Result.fail({ problem: tooDeep, offset: null });
    if (error instanceof ReferenceError) return Result.fail({ problem: aliasProblem(error), offset: null });
    throw error;
  }
};
