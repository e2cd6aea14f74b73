/** The library under config/data/search as data. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Document } from "../../../../src/env/games/search/Documents.ts";
import { folder } from "../../../generators/archipelago/library.ts";
import type { ArchipelagoQuestion } from "../../../generators/archipelago/questions.ts";

const lines = <A>(path: string): readonly A[] =>
  readFileSync(join(folder, path), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as A);

export const documents: ReadonlyMap<string, Document> = new Map(
  lines<Document>("corpus/ostrel-isles.jsonl").map((document) => [document.id, document]),
);
export const train = lines<ArchipelagoQuestion>("train.jsonl");
export const val = lines<ArchipelagoQuestion>("val.jsonl");
export const questions: readonly ArchipelagoQuestion[] = [...train, ...val];
