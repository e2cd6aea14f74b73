/**
 * BM25+ over a local folder of documents (Lv and Zhai, "Lower-bounding term frequency normalization", CIKM 2011). Built once
 * for a folder in each thread. Invariant: equal folders and queries give equal
 * documents in equal order; equal scores are ordered by id.
 */
import MiniSearch from "minisearch";
import { contentOf, type Document, locateFolder, readDocuments } from "./Documents.ts";
import type { Retrieved } from "./Retrieval.ts";

export interface LocalIndex {
  readonly size: number;
  readonly search: (query: string, topK: number) => readonly Retrieved[];
}

/** Letters without their marks, so that a query finds a name however its accents are typed. */
const plain = (term: string): string => term.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

const words = (text: string): string[] => text.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];

export const indexOf = (documents: readonly Document[]): LocalIndex => {
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

const built = new Map<string, Promise<LocalIndex>>();

/** The index of a folder. Rejects with a sentence; the next caller then tries again. */
export const localIndex = async (folder: string): Promise<LocalIndex> => {
  const place = locateFolder(folder);
  if (place === null) throw new Error(`${folder}: no such folder`);
  const building = built.get(place) ?? readDocuments(place).then(indexOf);
  built.set(place, building);
  try {
    return await building;
  } catch (cause) {
    built.delete(place);
    throw cause;
  }
};
