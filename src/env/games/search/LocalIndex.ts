/**
 * BM25+ over a local folder of documents (Lv and Zhai, "Lower-bounding term frequency normalization", CIKM 2011). Each thread builds the index
 * of a folder once. Invariant: equal folders and queries give equal documents in equal order; equal scores are ordered by id.
 */
import MiniSearch from "minisearch";
import { contentOf, type Document, locateFolder, readDocuments } from "./Documents.ts";
import type { RetrievedDocument } from "./Retrieval.ts";

export interface LocalIndex {
  readonly size: number;
  readonly search: (query: string, topK: number) => readonly RetrievedDocument[];
}

/** Removes the marks of letters, so that a query finds a name however its accents are typed. */
const plain = (term: string): string => term.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

const words = (text: string): string[] => text.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];

export const buildIndex = (documents: readonly Document[]): LocalIndex => {
  const engine = new MiniSearch<Document>({
    fields: ["title", "text"],
    tokenize: words,
    processTerm: plain,
    searchOptions: { boost: { title: 2 } },
  });
  engine.addAll(documents);
  const byId = new Map(documents.map((document) => [document.id, document]));
  return {
    size: documents.length,
    search: (query, topK) =>
      engine
        .search(query)
        .sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1))
        .slice(0, topK)
        .flatMap(({ id, score }) => {
          const document = byId.get(id);
          return document === undefined ? [] : [{ id, content: contentOf(document), score }];
        }),
  };
};

const indexes = new Map<string, Promise<LocalIndex>>();

/** The index of a folder. It rejects with a sentence, after which the next caller tries again. */
export const localIndex = async (folder: string): Promise<LocalIndex> => {
  const place = locateFolder(folder);
  if (place === null) throw new Error(`${folder}: no such folder`);
  const building = indexes.get(place) ?? readDocuments(place).then(buildIndex);
  indexes.set(place, building);
  try {
    return await building;
  } catch (cause) {
    indexes.delete(place);
    throw cause;
  }
};
