/**
 * Folders whose files say anything: the files of a good folder, with values of their JSON and YAML replaced, lines torn, or files gone. Every test
 * that damages a folder at random draws from here.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";

/** Values that JSON can have and that few expect. */
const odd = [1e300, -1, 0.5, 2 ** 53, "", "\u0000", "../x", "3", [], {}, null, true, [[null]], { length: -1 }] as const;
const value = fc.oneof(fc.constantFrom<unknown>(...odd), fc.jsonValue({ maxDepth: 1 }));

/** A change of one file. Numbers choose a line and a place in it, whatever their size. */
export interface Damage {
  readonly file: string;
  readonly kind: "value" | "torn" | "gone";
  readonly line: number;
  readonly place: number;
  readonly value: unknown;
}

/** Up to twenty changes of some files; most replace a value. */
export const damages = (files: readonly string[]): fc.Arbitrary<readonly Damage[]> =>
  fc.array(
    fc.record({
      file: fc.constantFrom(...files),
      kind: fc.oneof(
        { weight: 18, arbitrary: fc.constant("value" as const) },
        { weight: 1, arbitrary: fc.constantFrom("torn" as const, "gone" as const) },
      ),
      line: fc.nat(),
      place: fc.nat(),
      value,
    }),
    { minLength: 1, maxLength: 20 },
  );

const placesIn = (text: string): number => {
  let places = 0;
  JSON.parse(text, (_, each: unknown) => {
    places++;
    return each;
  });
  return places;
};

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** A text of JSON with the value at one of its places replaced; of a line of YAML, the value behind its key. */
const replaced = (text: string, place: number, value: unknown): string => {
  if (!isJson(text)) return text.replace(/: .*$/, () => `: ${JSON.stringify(value)}`);
  const at = place % placesIn(text);
  let count = 0;
  return JSON.stringify(JSON.parse(text, (_, each: unknown) => (count++ === at ? value : each)));
};

const damaged = (text: string, { kind, line, place, value }: Damage): string => {
  if (kind === "torn") return text.slice(0, place % (text.length + 1));
  if (isJson(text)) return `${replaced(text, place, value)}\n`;
  const lines = text.trimEnd().split("\n");
  const at = line % lines.length;
  return `${lines.map((each, i) => (i === at ? replaced(each, place, value) : each)).join("\n")}\n`;
};

/** The texts of a folder's files, by their paths in it. */
export type Texts = ReadonlyMap<string, string>;

export const textsIn = (folder: string): Texts =>
  new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path.slice(folder.length + 1), readFileSync(path, "utf8")]),
  );

/** Writes the folder anew from its good texts, with the changes made. */
export const spoil = (folder: string, whole: Texts, changes: readonly Damage[]): void => {
  rmSync(folder, { recursive: true, force: true });
  for (const [file, text] of whole) {
    const mine = changes.filter((each) => each.file === file);
    if (mine.some(({ kind }) => kind === "gone")) continue;
    const path = join(folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, mine.reduce(damaged, text));
  }
  mkdirSync(folder, { recursive: true });
};
