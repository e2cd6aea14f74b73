/**
 * OmegaConf's interpolations: `${key}`, `${.sibling}`, `${oc.env:NAME,default}` and `${oc.select:key,default}`.
 * As a whole value they keep its type; inside a text they become text. Environment variables are passed in.
 */
import { Result } from "effect";
import { ourKey } from "./ragen/aliases.ts";
import { showText, showValue } from "./show.ts";
import type { Path, Tree } from "./Tree.ts";
import { eachLeaf, setAll } from "./Tree.ts";
import { limits, readYaml } from "./yamlText.ts";

/** `${key}` or `${resolver:arguments}`; anything else between braces is text. */
const pattern = /\$\{\s*([A-Za-z_][\w.]*|\.+\w[\w.]*)\s*(?::([^{}]*))?\}/g;
const wholeValue = new RegExp(`^${pattern.source}$`);

/** Returns the key, under our name, that a whole value `${key}` refers to, or null. */
export const referencedKey = (value: unknown): string | null => {
  const match = typeof value === "string" ? wholeValue.exec(value) : null;
  return match === null || match[2] !== undefined ? null : ourKey(match[1]!);
};

const fromRoot = (key: string, section: Path): string => {
  const dots = /^\.+/.exec(key)?.[0].length ?? 0;
  return dots === 0 ? key : [...section.slice(0, section.length - dots + 1), key.slice(dots)].join(".");
};

/** Spells the relative interpolations of a value of `section` with full keys. */
export const withAbsoluteKeys = (value: unknown, section: Path): unknown =>
  typeof value === "string" && value.includes("${")
    ? value.replaceAll(pattern, (text, name: string, argumentText: string | undefined) => {
        if (argumentText === undefined) return `\${${fromRoot(name, section)}}`;
        return name === "oc.select" ? `\${oc.select:${fromRoot(argumentText.trim(), section)}}` : text;
      })
    : value;

export interface ReferenceSources {
  /** Returns the value of a key under any name, undefined if it is not set. */
  readonly lookup: (key: string) => unknown;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Longest chain of references. */
const maxChain = 16;

const scalar = (text: string): unknown => Result.getOrElse(readYaml(text.trim()), () => text.trim());

/** Splits a resolver's arguments into the first one and the default after the comma. */
const argumentsOf = (argumentText: string): { readonly name: string; readonly fallback: string | undefined } => {
  const comma = argumentText.indexOf(",");
  if (comma < 0) return { name: argumentText.trim(), fallback: undefined };
  return { name: argumentText.slice(0, comma).trim(), fallback: argumentText.slice(comma + 1) };
};

const resolvers: readonly string[] = ["oc.env", "oc.select"];

type Value = Result.Result<unknown, string>;

const hasReference = (value: unknown): boolean =>
  typeof value === "string" ? value.includes("${") : Array.isArray(value) && value.some(hasReference);

export interface InterpolatedTree {
  readonly tree: Tree;
  /** Values that could not be resolved, with the reason. */
  readonly problems: readonly { readonly path: Path; readonly value: unknown; readonly why: string }[];
}

/** Resolves interpolations within one set of layers. It resolves each key once, however many values refer to it. */
export class Interpolator {
  readonly #surroundings: ReferenceSources;
  readonly #resolved = new Map<string, unknown>();

  constructor(surroundings: ReferenceSources) {
    this.#surroundings = surroundings;
  }

  /** Returns the resolved value, or why a reference cannot be resolved. */
  read(value: unknown): Value {
    if (!Array.isArray(value)) return this.#resolveValue(value, []);
    const items = value.map((item) => this.#resolveValue(item, []));
    return items.find(Result.isFailure) ?? Result.succeed(items.map((item) => Result.getOrElse(item, () => null)));
  }

  /** Returns the tree with every interpolation resolved. */
  readAll(tree: Tree): InterpolatedTree {
    const problems: { path: Path; value: unknown; why: string }[] = [];
    const changes = [...eachLeaf(tree)].flatMap(({ path, value }) => {
      if (!hasReference(value)) return [];
      const found = this.read(value);
      if (Result.isSuccess(found)) return [{ path, value: found.success }];
      problems.push({ path, value, why: found.failure });
      return [];
    });
    return { tree: setAll(tree, changes), problems };
  }

  #resolveValue(value: unknown, chain: readonly string[]): Value {
    if (typeof value !== "string" || !value.includes("${")) return Result.succeed(value);
    const alone = wholeValue.exec(value);
    return alone === null ? this.#resolveText(value, chain) : this.#resolve(alone[1]!, alone[2], chain);
  }

  /** Resolves the interpolations inside a text; the first that fails is its problem. */
  #resolveText(text: string, chain: readonly string[]): Value {
    let problem: string | null = null;
    let length = text.length;
    const replaced = text.replaceAll(pattern, (_, name: string, argumentText: string | undefined) => {
      if (problem !== null) return "";
      const part = this.#resolve(name, argumentText, chain);
      if (Result.isFailure(part)) problem = part.failure;
      const found = Result.getOrElse(part, () => "");
      const spelt = typeof found === "object" ? JSON.stringify(found) : String(found);
      length += spelt.length;
      if (length > limits.characters) problem ??= "means too long a text";
      return problem === null ? spelt : "";
    });
    return problem === null ? Result.succeed(replaced) : Result.fail(problem);
  }

  #resolve(name: string, argumentText: string | undefined, chain: readonly string[]): Value {
    if (argumentText === undefined) return this.#resolveKey(name, chain);
    const { fallback, name: reference } = argumentsOf(argumentText);
    if (name === "oc.select") return this.#resolveKey(reference, chain, fallback ?? "null");
    if (name !== "oc.env") {
      return Result.fail(`uses ${showText(name)}, which is not known; known: ${resolvers.join(", ")}`);
    }
    const found = this.#surroundings.environment[reference] ?? fallback;
    if (found !== undefined) return Result.succeed(scalar(found));
    return Result.fail(`refers to the environment variable ${showValue(reference)}, which is not set`);
  }

  #resolveKey(key: string, chain: readonly string[], fallback?: string): Value {
    const ours = ourKey(key);
    if (this.#resolved.has(ours)) return Result.succeed(this.#resolved.get(ours));
    if (chain.includes(ours)) return Result.fail("refers to itself");
    if (chain.length >= maxChain) return Result.fail(`refers to others through more than ${maxChain}`);
    const target = this.#surroundings.lookup(key);
    if (target === undefined) {
      if (fallback === undefined) return Result.fail("refers to a key that is not set");
      return Result.succeed(scalar(fallback));
    }
    const found = this.#resolveValue(target, [...chain, ours]);
    if (Result.isSuccess(found)) this.#resolved.set(ours, found.success);
    return found;
  }
}
