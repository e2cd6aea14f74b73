/**
 * OmegaConf's interpolations in values: `${key}`, `${.sibling}`, `${oc.env:NAME,default}` and `${oc.select:key,default}`, as a whole value,
 * which keeps its type, or inside a text. Pure but for the environment variables, which are passed in.
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

/** The key a whole-value interpolation `${key}` refers to, under our name, or null. */
export const referencedKey = (value: unknown): string | null => {
  const found = typeof value === "string" ? wholeValue.exec(value) : null;
  return found === null || found[2] !== undefined ? null : ourKey(found[1]!);
};

const fromRoot = (key: string, section: Path): string => {
  const dots = /^\.+/.exec(key)?.[0].length ?? 0;
  return dots === 0 ? key : [...section.slice(0, section.length - dots + 1), key.slice(dots)].join(".");
};

/** A value of `section` whose relative interpolations name their keys in full. */
export const withAbsoluteKeys = (value: unknown, section: Path): unknown =>
  typeof value === "string" && value.includes("${")
    ? value.replaceAll(pattern, (text, name: string, given: string | undefined) => {
        if (given === undefined) return `\${${fromRoot(name, section)}}`;
        return name === "oc.select" ? `\${oc.select:${fromRoot(given.trim(), section)}}` : text;
      })
    : value;

export interface ReferenceSources {
  /** The value of a key, under any name; undefined where it is not set. */
  readonly lookup: (key: string) => unknown;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** References that lead to one another, at most. */
const maxChain = 16;

const scalar = (text: string): unknown => Result.getOrElse(readYaml(text.trim()), () => text.trim());

/** The first argument of a resolver, and the default after its comma. */
const argumentsOf = (given: string): { readonly name: string; readonly fallback: string | undefined } => {
  const comma = given.indexOf(",");
  if (comma < 0) return { name: given.trim(), fallback: undefined };
  return { name: given.slice(0, comma).trim(), fallback: given.slice(comma + 1) };
};

const resolvers: readonly string[] = ["oc.env", "oc.select"];

type Value = Result.Result<unknown, string>;

const hasReference = (value: unknown): boolean =>
  typeof value === "string" ? value.includes("${") : Array.isArray(value) && value.some(hasReference);

export interface InterpolatedTree {
  readonly tree: Tree;
  /** Values that mean nothing, with the reason. */
  readonly problems: readonly { readonly path: Path; readonly value: unknown; readonly why: string }[];
}

/** Reads interpolations within one set of layers. What a key means is found once, however many values refer to it. */
export class Interpolator {
  readonly #surroundings: ReferenceSources;
  readonly #known = new Map<string, unknown>();

  constructor(surroundings: ReferenceSources) {
    this.#surroundings = surroundings;
  }

  /** What a value means, or why one of its references means nothing. */
  read(value: unknown): Value {
    if (!Array.isArray(value)) return this.#follow(value, []);
    const items = value.map((item) => this.#follow(item, []));
    return items.find(Result.isFailure) ?? Result.succeed(items.map((item) => Result.getOrElse(item, () => null)));
  }

  /** A tree with every interpolation replaced by what it means. */
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

  #follow(value: unknown, seen: readonly string[]): Value {
    if (typeof value !== "string" || !value.includes("${")) return Result.succeed(value);
    const alone = wholeValue.exec(value);
    return alone === null ? this.#inside(value, seen) : this.#meant(alone[1]!, alone[2], seen);
  }

  /** A text with interpolations inside; the first that means nothing is its problem. */
  #inside(text: string, seen: readonly string[]): Value {
    let problem: string | null = null;
    let length = text.length;
    const replaced = text.replaceAll(pattern, (_, name: string, given: string | undefined) => {
      if (problem !== null) return "";
      const part = this.#meant(name, given, seen);
      if (Result.isFailure(part)) problem = part.failure;
      const found = Result.getOrElse(part, () => "");
      const spelt = typeof found === "object" ? JSON.stringify(found) : String(found);
      length += spelt.length;
      if (length > limits.characters) problem ??= "means too long a text";
      return problem === null ? spelt : "";
    });
    return problem === null ? Result.succeed(replaced) : Result.fail(problem);
  }

  #meant(name: string, given: string | undefined, seen: readonly string[]): Value {
    if (given === undefined) return this.#ofKey(name, seen);
    const { fallback, name: wanted } = argumentsOf(given);
    if (name === "oc.select") return this.#ofKey(wanted, seen, fallback ?? "null");
    if (name !== "oc.env") {
      return Result.fail(`uses ${showText(name)}, which is not known; known: ${resolvers.join(", ")}`);
    }
    const found = this.#surroundings.environment[wanted] ?? fallback;
    if (found !== undefined) return Result.succeed(scalar(found));
    return Result.fail(`refers to the environment variable ${showValue(wanted)}, which is not set`);
  }

  #ofKey(key: string, seen: readonly string[], fallback?: string): Value {
    const ours = ourKey(key);
    if (this.#known.has(ours)) return Result.succeed(this.#known.get(ours));
    if (seen.includes(ours)) return Result.fail("refers to itself");
    if (seen.length >= maxChain) return Result.fail(`refers to others through more than ${maxChain}`);
    const target = this.#surroundings.lookup(key);
    if (target === undefined) {
      if (fallback === undefined) return Result.fail("refers to a key that is not set");
      return Result.succeed(scalar(fallback));
    }
    const found = this.#follow(target, [...seen, ours]);
    if (Result.isSuccess(found)) this.#known.set(ours, found.success);
    return found;
  }
}
