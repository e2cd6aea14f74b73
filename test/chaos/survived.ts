/** Checks a run that went on after being disturbed: every step once, books that balance, nothing twice and nothing left behind. */
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

/** Steps that the events say are closed. Expects no group to be admitted, ended or judged twice, and no window or step twice. */
export const recordedOnce = (folder: string): readonly unknown[] => {
  // A full disk may cut the last line short; the run goes on without this log.
  const events = linesOf(join(folder, "events.jsonl"), { endsInPart: true });
  const named = (tag: string, key: string) => events.filter(({ _tag }) => _tag === tag).map((event) => event[key]);
  const steps = named("StepClosed", "step");
  const judged = events.flatMap(({ filtered, kept }) => [kept ?? [], filtered ?? []]).flat();
  const windows = ["Windowed", "Scored", "Learning", "Verdict", "Updated"].map((tag) => named(tag, "window"));
  const closed = named("StepClosed", "groups").flat();
  for (const once of [named("Admitted", "group"), named("Finished", "group"), judged, closed, steps, ...windows]) {
    expect(once).toHaveLength(new Set(once).size);
  }
  return steps;
};

/** The restarts that a run's events tell of. */
export const restartsOf = (folder: string) =>
  linesOf(join(folder, "events.jsonl")).filter(({ _tag }) => _tag === "Restarted");

/** Expects the finished run in `folder` to be whole, and nothing beside its checkpoints but `aside`. */
export const survived = (folder: string, steps: number, aside: readonly string[] = []): void => {
  const records = linesOf(join(folder, "metrics.jsonl")).filter(({ step }) => step !== 0);
  expect(records.map(({ step }) => step)).toEqual(Array.from({ length: steps }, (_, index) => index + 1));
  for (const record of records) balanced(record);
  expect(records.at(-1)).toMatchObject({ "ledger/in_flight": 0 });

  const trajectories = linesOf(join(folder, "trajectories.jsonl"));
  const trained = trajectories.filter(({ split }) => split === "train");
  expect(new Set(trained.map(({ step }) => step))).toEqual(new Set(records.map(({ step }) => step)));
  const names = trajectories.map(
    ({ group, member, sequence, split, step }) => `${split} ${step} ${group} ${member} ${sequence}`,
  );
  expect(names).toHaveLength(new Set(names).size);

  recordedOnce(folder);
  expect(checkpointsOf(folder).at(-1)).toBe(steps);
  expect(readdirSync(join(folder, "checkpoints")).filter((name) => !/^step-\d+$/.test(name))).toEqual(aside);
  expect(readdirSync(folder)).not.toContain("lock");
};
