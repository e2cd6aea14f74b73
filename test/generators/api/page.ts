/**
 * Writes docs/api.md from the docstrings and types of what the package exports: `npm run api`. A test holds the page to what this writes.
 * Invariant: every export stands in one group and has a docstring; the generator fails otherwise and says which.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../../src/support/files/packageRoot.ts";
import { elsewhere } from "./groups.ts";
import { type Item, type PlacedEntry, type PlacedGroup, placeEntries, resolvedKey } from "./layout.ts";
import { exportedFrom, isModule, type Resolved } from "./modules.ts";
import { TypePrinter } from "./TypePrinter.ts";

/** Joins paragraphs, code and tables. */
const blocks = (...parts: readonly string[]): string => parts.filter((part) => part !== "").join("\n\n");

const widest = 150;

/** A paragraph on lines of the width of the other pages. */
const wrapped = (paragraph: string): string => {
  const lines: string[] = [];
  let line = "";
  for (const word of paragraph.split(/\s+/)) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (longer.length > widest) lines.push(line);
    line = longer.length > widest ? word : longer;
  }
  return [...lines, line].join("\n");
};

/** A docstring's sentences, and those that say what to use instead. */
const readDoc = (doc: string): readonly string[] => {
  const [text = "", deprecation] = doc.split(/^@deprecated /m);
  const paragraphs = text.trim().split(/\n\s*\n/);
  return deprecation === undefined ? paragraphs : [`**Deprecated.** ${deprecation}`, ...paragraphs];
};

const firstSentence = (doc: string): string => doc.replace(/\s+/g, " ").replace(/(?<=[.!?]) .*$/, "");

const code = (text: string): string => `\`${text.replace(/\s+/g, " ").trim()}\``;
const cell = (text: string): string => text.replace(/\s+/g, " ").replaceAll("|", "\\|");

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string => {
  if (rows.length === 0) return "";
  const lines = [head, head.map(() => "---"), ...rows.map((row) => row.map(cell))];
  return lines.map((line) => `| ${line.join(" | ")} |`).join("\n");
};

/** The names under which readers know declarations; those of a namespace have its name in front. */
const namesOf = (items: readonly Item[]): ReadonlyMap<string, string> => {
  const names = items.flatMap(({ name, resolved }): readonly (readonly [string, string])[] =>
    isModule(resolved)
      ? [...exportedFrom(resolved)].map(([member, target]) => [resolvedKey(target), `${name}.${member}`])
      : [[resolvedKey(resolved), name]],
  );
  // The first entry's name counts, so it is set last.
  return new Map(names.toReversed());
};

/** Writes the parts of the page, and notes what lacks a docstring. */
class PageWriter {
  readonly #printer: TypePrinter;
  readonly problems: string[] = [];

  constructor(printer: TypePrinter) {
    this.#printer = printer;
  }

  #doc(resolved: Resolved, name: string): readonly string[] {
    if (resolved.doc === "") {
      const { path } = isModule(resolved) ? resolved : resolved.module;
      this.problems.push(`${path}: give ${name} a docstring`);
    }
    return readDoc(resolved.doc);
  }

  /** A heading with the docstring, and the whole declaration below it. */
  headed({ name, resolved }: Item): string {
    const heading = `#### \`${name}\``;
    const doc = this.#doc(resolved, name).map(wrapped);
    if (isModule(resolved)) {
      const rows = [...exportedFrom(resolved)].map(([member, target]) => this.#row(member, target));
      return blocks(heading, doc[0] ?? "", table(["member", "meaning"], rows));
    }
    const members = this.#printer.taggedMembers(resolved);
    if (members !== undefined) {
      const rows = members.map((member) => [
        code(member.name),
        this.#doc(member, member.name).join(" "),
        this.#fields(this.#printer.fieldNames(member)),
      ]);
      return blocks(heading, ...doc, table(["`_tag`", "meaning", "fields"], rows));
    }
    return blocks(heading, ...doc, `\`\`\`ts\n${this.#printer.code(resolved, name)}\n\`\`\``);
  }

  #fields(names: readonly string[]): string {
    return names.map((name) => code(name)).join(", ");
  }

  #row(name: string, resolved: Resolved): readonly string[] {
    const doc = this.#doc(resolved, name).join(" ");
    if (isModule(resolved)) return [code(name), doc];
    const link = elsewhere.get(name);
    if (link !== undefined) return [code(name), `${doc} ${link}`];
    const summary = this.#printer.summary(resolved, name);
    const fields = this.#printer.fieldNames(resolved);
    return [code(summary), fields.length === 0 ? doc : `${doc} Fields: ${this.#fields(fields)}.`];
  }

  /** A table of exports. Another place of the page may explain one of them. */
  listed(items: readonly Item[]): string {
    const rows = items.map(({ explainedAt, name, resolved }) =>
      explainedAt === undefined
        ? this.#row(name, resolved)
        : [code(name), `See [\`${explainedAt.entry}\`](#${explainedAt.anchor}).`],
    );
    return table(["export", "meaning"], rows);
  }

  /** The types that printed ones name and nobody can import. */
  internal(): string {
    const declarations = [...this.#printer.internal.values()].sort((a, b) => a.name.localeCompare(b.name));
    return table(
      ["type", "meaning"],
      declarations.map((declaration) =>
        this.#row(declaration.name, { ...declaration, doc: firstSentence(declaration.doc) }),
      ),
    );
  }
}

const groupText = (writer: PageWriter, { group, items }: PlacedGroup): string =>
  blocks(
    `### ${group.title}`,
    wrapped(group.intro ?? ""),
    ...items.filter(({ isHeaded }) => isHeaded).map((item) => writer.headed(item)),
    writer.listed(items.filter(({ isHeaded }) => !isHeaded)),
  );

const link = (text: string, anchor: string): string => `[${text}](#${anchor})`;

/** The groups of each entry, and their exports that have a heading. */
const contents = (placed: readonly PlacedEntry[]): string =>
  placed
    .flatMap(({ anchor, entry, groups }) => [
      `- ${link(code(entry.name), anchor)}`,
      ...groups.map((group) => {
        const headed = group.items.filter(({ isHeaded }) => isHeaded).map((item) => link(code(item.name), item.anchor));
        const title = link(group.group.title, group.anchor);
        return `  - ${[title, headed.join(", ")].filter((part) => part !== "").join(": ")}`;
      }),
    ])
    .join("\n");

const head = `# API

<!-- Made from the docstrings and types of the sources. CONTRIBUTING.md says how. -->

Everything that the package exports, by the entry it is imported from. Properties are \`readonly\`; the word is left out here. Types of
[Effect](https://effect.website) (\`Effect\`, \`Schema\`, \`Schedule\`) and [rxjs](https://rxjs.dev) (\`Observable\`) are theirs.`;

const internalTitle = "Types that others name";
const internalIntro = "They are parts of the types above, and have no names to import.";

/** The text of docs/api.md. Throws with a sentence for each thing that keeps it from being complete. */
export const apiPage = (): string => {
  const placed = placeEntries();
  const items = placed.flatMap(({ groups }) => groups.flatMap((group) => group.items));
  const headed = new Set(items.filter(({ isHeaded }) => isHeaded).map(({ resolved }) => resolvedKey(resolved)));
  const writer = new PageWriter(new TypePrinter(namesOf(items), headed));
  const sections = placed.map(({ entry, groups }) =>
    blocks(`## \`${entry.name}\``, wrapped(entry.intro), ...groups.map((group) => groupText(writer, group))),
  );
  const internal = blocks(`## ${internalTitle}`, internalIntro, writer.internal());
  if (writer.problems.length > 0) throw new Error([...new Set(writer.problems)].join("\n"));
  return `${blocks(head, contents(placed), ...sections, internal)}\n`;
};

if (import.meta.main) writeFileSync(join(packageRoot, "docs/api.md"), apiPage());
