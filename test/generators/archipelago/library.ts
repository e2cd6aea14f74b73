/**
 * Generates the files under config/data/search: the corpus, and the questions of training and validation. The text is the same on every
 * machine. Run as a program, it writes them.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { stream } from "../../../src/domain/Random.ts";
import { documentsOf } from "./documents.ts";
import { questionsOf } from "./questions.ts";
import { makeWorld } from "./World.ts";

export const folder = fileURLToPath(new URL("../../../config/data/search", import.meta.url));

const trained = 80;

const draws = (counter: number) => stream({ seed: 1204, purpose: "instance", counters: [counter] });

const lines = (items: readonly object[]): string => items.map((item) => `${JSON.stringify(item)}\n`).join("");

/** Texts by their path below `folder`. */
export const library = (): Readonly<Record<string, string>> => {
  const world = makeWorld(draws(0));
  const questions = questionsOf(world, draws(1));
  return {
    "corpus/ostrel-isles.jsonl": lines(documentsOf(world)),
    "train.jsonl": lines(questions.slice(0, trained)),
    "val.jsonl": lines(questions.slice(trained)),
  };
};

if (import.meta.main) {
  for (const [path, text] of Object.entries(library())) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}
