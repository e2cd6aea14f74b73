/** Finds evaluations: folders that say what they play. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { hasEvaluation } from "../src/tools/evaluation/EvaluationFolder.ts";

const foldersIn = (folder: string): readonly string[] => {
  try {
    const entries = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return entries.map(({ name }) => join(folder, name)).sort();
  } catch {
    return [];
  }
};

/** The folders of evaluations in `folder`, itself included, at most `deep` levels below it, by name. */
export const evaluationsIn = (folder: string, deep: number): readonly string[] => {
  const below = deep === 0 ? [] : foldersIn(folder);
  return [...(hasEvaluation(folder) ? [folder] : []), ...below.flatMap((child) => evaluationsIn(child, deep - 1))];
};
