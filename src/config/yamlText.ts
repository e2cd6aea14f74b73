/**
 * Reads YAML text as plain data: maps with text keys, lists, texts, numbers, booleans and null. Aliases are expanded here, within the limits
 * of the whole, so that what is read is a tree: no part of it is shared or contains itself.
 */
import { Result } from "effect";
import { isAlias, isMap, isScalar, isSeq, type Node, parseDocument } from "yaml";
import { shown, shownText } from "./shown.ts";

/** Of one text. The characters of all files of a run together are limited by the same number. */
export const limits = { characters: 262_144, values: 50_000, depth: 32, expanded: 1_048_576 } as const;

export interface Unreadable {
  readonly problem: string;
  /** Where in the text, if that is known. */
  readonly at: number | null;
}

class Refused {
  readonly unreadable: Unreadable;
  constructor(problem: string, node: unknown) {
    this.unreadable = { problem, at: (isNode(node) && node.range?.[0]) || null };
  }
}

const isNode = (value: unknown): value is Node => isScalar(value) || isMap(value) || isSeq(value) || isAlias(value);

const tooDeep = `more than ${limits.depth} levels of lists and maps`;

/** One pass over the nodes in their order, which is that in which anchors count. */
class Reader {
  readonly #anchors = new Map<string, Node>();
  /** The lists and maps around the node being read. */
  readonly #open = new Set<Node>();
  #values = 0;
  #characters = 0;

  read(node: unknown): unknown {
    if (node === null || node === undefined) return null;
    if (!isNode(node)) throw new Refused("a value of another kind", node);
    if (isAlias(node)) return this.read(this.#target(node.source, node));
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    this.#values++;
    if (this.#values > limits.values) throw new Refused(`more than ${limits.values} values, aliases expanded`, node);
    if (isScalar(node)) return this.#scalar(node.value, node);
    if (this.#open.has(node)) throw new Refused("an alias inside of what it stands for", node);
    if (this.#open.size >= limits.depth) throw new Refused(tooDeep, node);
    this.#open.add(node);
    const read = isMap(node) ? this.#map(node.items) : node.items.map((item) => this.read(item));
    this.#open.delete(node);
    return read;
  }

  #target(name: string, node: Node): Node {
    const target = this.#anchors.get(name);
    if (target === undefined) throw new Refused(`the alias *${shownText(name)} has no anchor before it`, node);
    return target;
  }

  #scalar(value: unknown, node: Node): string | number | boolean | null {
    if (typeof value === "number") return value === 0 ? 0 : value;
    if (typeof value === "boolean" || value === null) return value;
    if (typeof value !== "string") throw new Refused("a value of another kind", node);
    this.#characters += value.length;
    if (this.#characters <= limits.expanded) return value;
    throw new Refused(`more than ${limits.expanded} characters of text, aliases expanded`, node);
  }

  #map(items: ReadonlyArray<{ readonly key: unknown; readonly value: unknown }>): Readonly<Record<string, unknown>> {
    const map: Record<string, unknown> = {};
    for (const { key, value } of items) {
      const read = this.read(key);
      if (typeof read === "object" && read !== null) throw new Refused("a list or map as a key", key);
      const name = String(read ?? "");
      if (name === "__proto__") throw new Refused(`${shown(name)} cannot be a key`, key);
      if (Object.hasOwn(map, name))
        throw new Refused(`the key ${shown(name)} is given twice, keys must be unique`, key);
      map[name] = this.read(value);
    }
    return map;
  }
}

const failing = (problem: string, at: number | null) => Result.fail({ problem, at });

const isOverflow = (message: string): boolean => message.includes("call stack");

export const readYaml = (text: string): Result.Result<unknown, Unreadable> => {
  if (text.length > limits.characters) return failing(`more than ${limits.characters} characters`, null);
  try {
    // Keys given twice are found above: the library compares each key with every other one.
    const document = parseDocument(text, { prettyErrors: false, uniqueKeys: false });
    const error = document.errors.find(({ message }) => isOverflow(message)) ?? document.errors[0];
    if (error === undefined) return Result.succeed(new Reader().read(document.contents));
    return failing(isOverflow(error.message) ? tooDeep : shownText(error.message, 120), error.pos[0]);
  } catch (error) {
    if (error instanceof Refused) return Result.fail(error.unreadable);
    // The library reads nested lists and maps by recursion.
    if (error instanceof RangeError) return failing(tooDeep, null);
    throw error;
  }
};
