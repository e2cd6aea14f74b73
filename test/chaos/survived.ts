/** What a run must show that went on after being disturbed: every step once, books that balance, nothing twice and nothing left behind. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { checkpointsOf, linesOf } from "./Trial.ts";

const books = ["trained", "filtered", "failed", "dropped", "in_flight"];

/** Expects `admitted` to be the sum of the rest, for groups and for tokens. */
const balanced = (record: Readonly<Record<string, unknown>>): void => {
  for (const prefix of ["ledger", "ledger/tokens"]) {
    const amount = (name: string): number => Number(record[`${prefix}/${name}`]);
    const parts = books.filter((name) => `${prefix}/${name}` in record).map(amount);
    expect(parts.reduce((sum, part) => sum + part, 0)).toBe(amount("admitted"));
  }
};

/** Expects the finished run in `folder` to be whole, and nothing beside its checkpoints but `aside`. */
export const survived = (folder: string, steps: number, aside: readonly string[] = []): void => {
  const records = linesOf(join(folder, "metrics.jsonl")).filter(({ step }) => step !== 0);
  expect(records.map(({ step }) => step)).toEqual(Array.from({ length: steps }, (_, index) => index + 1));
  for (const record of records) balanced(record);
  expect(records.at(-1)).toMatchObject({ "ledger/in_flight": 0 });

  const played = linesOf(join(folder, "trajectories.jsonl"));
  const trained = played.filter(({ split }) => split === "train");
  expect(new Set(trained.map(({ step }) => step))).toEqual(new Set(records.map(({ step }) => step)));
  const names = played.map(({ group, member, split, step }) => `${split} ${step} ${group} ${member}`);
  expect(names).toHaveLength(new Set(names).size);

  expect(checkpointsOf(folder).at(-1)).toBe(steps);
  expect(readdirSync(join(folder, "checkpoints")).filter((name) => !/^step-\d+$/.test(name))).toEqual(aside);
  expect(readdirSync(folder)).not.toContain("lock");
};
