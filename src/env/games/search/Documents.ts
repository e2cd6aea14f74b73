/**
 * A folder of documents: .txt and .md files with one document each, and .jsonl files with one document a line (`text`, `contents` or
 * `content`, and optionally `id` and `title`). Files are read in the order of their paths. Invariant: all ids are different. Errors are
 * sentences for the user.
 */
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { extname, join, resolve } from "node:path";
import { Result, Schema } from "effect";
import { packageRoot } from "../../../support/files/packageRoot.ts";
import { jsonLines } from "../dataset/jsonLines.ts";

export interface Document {
  readonly id: string;
  /** The title; empty if there is none. */
  readonly title: string;
  readonly text: string;
}

/** The absolute path of a folder, in the working directory or else in the package; null if there is none. */
export const locateFolder = (folder: string): string | null =>
  [resolve(folder), resolve(packageRoot, folder)].find((place) => existsSync(place)) ?? null;

const Line = Schema.Struct({
  id: Schema.optionalKey(Schema.Union([Schema.String, Schema.Number])),
  title: Schema.optionalKey(Schema.String),
  text: Schema.optionalKey(Schema.String),
  contents: Schema.optionalKey(Schema.String),
  content: Schema.optionalKey(Schema.String),
});

/** Makes a document of a file. The first heading of Markdown is its title; a plain text has none. */
const headed = (id: string, text: string): Document => {
  const heading = extname(id) === ".md" ? /^\s*#+\s+(.+)\n/.exec(text) : null;
  return { id, title: heading?.[1]?.trim() ?? "", text: text.slice(heading?.[0].length ?? 0).trim() };
};

const lineOf = (place: string, value: unknown): Document => {
  const decoded = Schema.decodeUnknownResult(Line)(value);
  if (Result.isFailure(decoded)) throw new Error(`${place}: ${decoded.failure.message.replace(/\s+/g, " ")}`);
  const { content, contents, id, text, title } = decoded.success;
  const body = text ?? contents ?? content;
  if (body === undefined) throw new Error(`${place}: a document has a text, contents or content`);
  return { id: String(id ?? place), title: title ?? "", text: body.trim() };
};

const documentsOf = async (folder: string, path: string): Promise<readonly Document[]> => {
  const file = join(folder, path);
  const name = path.replaceAll("\\", "/");
  if (extname(path) !== ".jsonl") return [headed(name, await readFile(file, "utf8"))];
  const documents: Document[] = [];
  for await (const batch of jsonLines.rows(file, name, [])) {
    for (const { at, problem, value } of batch) {
      const place = jsonLines.place(name, at);
      if (problem !== null) throw new Error(`${place}: ${problem}`);
      documents.push(lineOf(place, value));
    }
  }
  return documents;
};

/** Every document under `folder`, an absolute path. It rejects if there is none, or if two share an id. */
export const readDocuments = async (folder: string): Promise<readonly Document[]> => {
  const entries = await readdir(folder, { recursive: true });
  const paths = entries.filter((path) => [".txt", ".md", ".jsonl"].includes(extname(path))).sort();
  const documents: Document[] = [];
  for (const path of paths) documents.push(...(await documentsOf(folder, path)));
  if (documents.length === 0) throw new Error(`${folder} holds no .txt, .md or .jsonl document`);
  const ids = new Set<string>();
  for (const { id } of documents) {
    if (ids.has(id)) throw new Error(`${folder}: two documents have the id "${id}"`);
    ids.add(id);
  }
  return documents;
};

/** The content of a document as search results show it. */
export const contentOf = ({ text, title }: Document): string => (title === "" ? text : `${title}\n${text}`);
