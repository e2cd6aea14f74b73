/** The shipped library: consistent, as its generator makes it, and searchable for its questions. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { stream } from "../../src/domain/Random.ts";
import { localIndex } from "../../src/env/games/search/LocalIndex.ts";
import { scoreOf } from "../../src/env/games/search/score.ts";
import { documents, questions, train, val } from "../env/games/search/shipped.ts";
import { documentsOf } from "./archipelago/documents.ts";
import { folder, library } from "./archipelago/library.ts";
import { questionsOf } from "./archipelago/questions.ts";
import { makeWorld } from "./archipelago/World.ts";

const worldOf = (seed: number) => makeWorld(stream({ seed, purpose: "instance", counters: [0] }));

describe("the shipped library", () => {
  it("is what the generator makes", () => {
    for (const [path, text] of Object.entries(library())) expect(readFileSync(join(folder, path), "utf8")).toBe(text);
  });

  it("has 160 documents, of which none is cut when it is shown", () => {
    expect(documents.size).toBe(160);
    expect(Math.max(...[...documents.values()].map(({ text, title }) => title.length + 1 + text.length))).toBeLessThan(
      800,
    );
  });

  it("has 100 different questions, 80 of them for training", () => {
    expect([train.length, val.length]).toEqual([80, 20]);
    expect(new Set(questions.map(({ question }) => question)).size).toBe(100);
  });

  it("has its answers in its documents, and no answer in its question alone", () => {
    const decided = questions.filter(({ ground_truth: [truth] }) => !["yes", "no"].includes(truth!));
    expect(questions.length - decided.length).toBe(8);
    for (const { evidence, ground_truth, question } of decided) {
      const texts = evidence.map((id) => `${documents.get(id)!.title}: ${documents.get(id)!.text}`).join("\n");
      const stated = ground_truth.some((truth) => texts.includes(truth.replace(/^the /, "")));
      expect([question, stated]).toEqual([question, true]);
      const choice = /^(Who was born first|Which island is larger)/.test(question);
      expect([question, !choice && ground_truth.some((truth) => question.includes(truth))]).toEqual([question, false]);
    }
  });

  it("has yes and no among its answers", () => {
    const truths = questions.map(({ ground_truth: [truth] }) => truth);
    expect(truths.filter((truth) => truth === "yes").length).toBeGreaterThanOrEqual(3);
    expect(truths.filter((truth) => truth === "no").length).toBeGreaterThanOrEqual(3);
  });

  it("accepts every form of an answer, and no other answer of its kind", () => {
    for (const { ground_truth } of questions) {
      for (const truth of ground_truth) expect(scoreOf(truth, ground_truth).em).toBe(true);
    }
    expect(scoreOf("1524 metres", ["1,523 metres", "1,523"]).em).toBe(false);
  });

  it("needs a second document for more than half of its questions, and says so in the first one by name", () => {
    const twofold = questions.filter(({ evidence }) => evidence.length === 2);
    expect(twofold.length).toBe(64);
    for (const { evidence, question } of twofold) {
      const [first, second] = evidence.map((id) => documents.get(id)!);
      const name = second!.title.replace(/ \(.*\)$/, "");
      expect([question, `${first!.text} ${question}`.includes(name)]).toEqual([question, true]);
    }
  });
});

describe("BM25 over the library", () => {
  it("finds the first document of every question among the best five", async () => {
    const index = await localIndex(join(folder, "corpus"));
    const found = questions.filter(({ evidence, question }) =>
      index.search(question, 5).some(({ id }) => id === evidence[0]),
    );
    // Measured: 100 of 100.
    expect(found.length).toBeGreaterThanOrEqual(100);
  });

  it("finds the second by its name", async () => {
    const index = await localIndex(join(folder, "corpus"));
    const missed = questions.filter(
      ({ evidence: [, id] }) =>
        id !== undefined && !index.search(documents.get(id)!.title, 5).some((found) => found.id === id),
    );
    expect(missed).toEqual([]);
  });
});

describe("any world", () => {
  const worlds = [1, 2, 3, 4].map(worldOf);

  it("is a function of its draws", () => {
    expect(worldOf(1)).toEqual(worldOf(1));
    expect(worldOf(1)).not.toEqual(worldOf(2));
  });

  it("has teachers who are older than 15 and alive when their pupils are 15", () => {
    for (const { people } of worlds) {
      for (const { born, teacher } of people) {
        if (teacher === null) continue;
        expect(born - teacher.born).toBeGreaterThanOrEqual(15);
        expect(teacher.died).toBeGreaterThanOrEqual(born + 15);
      }
    }
  });

  it("has nothing made outside its maker's life", () => {
    for (const { buildings, mountains, ships, species, works } of worlds) {
      const dated = [
        ...works.map(({ author, year }) => [author, year] as const),
        ...buildings.map(({ architect, completed }) => [architect, completed] as const),
        ...ships.map(({ captain, launched }) => [captain, launched] as const),
        ...species.map(({ described, naturalist }) => [naturalist, described] as const),
        ...mountains.map(({ climbed, climber }) => [climber, climbed] as const),
      ];
      for (const [maker, year] of dated) {
        expect(year).toBeGreaterThan(maker.born + 20);
        expect(year).toBeLessThan(maker.died);
      }
    }
  });

  it("has towns younger than their island, and figures that can be told apart", () => {
    for (const { islands, mountains, towns } of worlds) {
      for (const { founded, island } of towns) expect(founded).toBeGreaterThan(island.settled);
      expect(new Set(islands.map(({ area }) => area)).size).toBe(islands.length);
      expect(new Set(mountains.map(({ height }) => height)).size).toBe(mountains.length);
    }
  });

  it("has documents with different ids, and at least 98 questions", () => {
    for (const world of worlds) {
      const ids = documentsOf(world).map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      const drawnQuestions = questionsOf(world, stream({ seed: 0, purpose: "instance", counters: [] }));
      expect(drawnQuestions.length).toBeGreaterThanOrEqual(98);
      expect(drawnQuestions.flatMap(({ evidence }) => evidence).filter((id) => !ids.includes(id))).toEqual([]);
    }
  });
});
