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

/** Names of the window's events of one kind. A refill gathers and scores its window again, so those are told apart by the refills before. */
const windowsNamed = (events: readonly Readonly<Record<string, unknown>>[], tag: string): readonly string[] => {
  const refills = new Map<unknown, number>();
  return events.flatMap(({ _tag, window }) => {
    const before = refills.get(window) ?? 0;
    if (_tag === "Refill") refills.set(window, before + 1);
    return _tag === tag
      ? [tag === "Windowed" || tag === "Scored" ? `${window} after ${before} refills` : `${window}`]
      : [];
  });
};

/** Steps that the events say are closed. Expects no group to be admitted, ended or judged twice, and no window or step twice. */
export const recordedOnce = (folder: string): readonly unknown[] => {
  // A full disk may cut the last line short; the run goes on without this log.
  const events = linesOf(join(folder, "events.jsonl"), { endsInPart: true });
  const named = (tag: string, key: string) => events.filter(({ _tag }) => _tag === tag).map((event) => event[key]);
  const steps = named("StepClosed", "step");
  const judged = events.flatMap(({ filtered, kept }) => [kept ?? [], filtered ?? []]).flat();
  const windows = ["Windowed", "Scored", "Learning", "Verdict", "Updated"].map((tag) => windowsNamed(events, tag));
  const closed = named("StepClosed", "groups").flat();
  for (const once of [named("Admitted", "group"), named("Finished", "group"), judged, closed, steps, ...windows]) {
    expect(once).toHaveLength(new Set(once).size);
  }
  return steps;
};

/** The restarts that a run's events tell of. */
export const restartsOf = (folder: string) =>
  linesOf(join(folder, "events.jsonl")).filter(({ _tag }) => _tag === "Restarted");

/** Names of the sequences in a run's trajectories. */
const sequenceNames = (folder: string): readonly string[] =>
  linesOf(join(folder, "trajectories.jsonl")).map(
    ({ group, member, sequence, split, step }) => `${split} ${step} ${group} ${member} ${sequence}`,
  );

export interface EpisodeCounts {
  /** Episodes of the steps' groups that no event ends. */
  readonly lost: number;
  /** Groups that end twice, and sequences that are recorded twice. */
  readonly duplicated: number;
}

/** Counts the episodes of a finished run, whose groups have `groupSize` each. */
export const episodeCounts = (folder: string, groupSize: number): EpisodeCounts => {
  const events = linesOf(join(folder, "events.jsonl"), { endsInPart: true });
  const closed = events.flatMap(({ _tag, groups }) => (_tag === "StepClosed" && Array.isArray(groups) ? groups : []));
  const finished = events.filter(({ _tag }) => _tag === "Finished");
  const members = new Map(
    finished.map(({ episodes, group }) => [group, Array.isArray(episodes) ? episodes.length : 0]),
  );
  const names = sequenceNames(folder);
  return {
    lost: closed.reduce((sum: number, group) => sum + groupSize - (members.get(group) ?? 0), 0),
    duplicated: finished.length - members.size + names.length - new Set(names).size,
  };
};

/** Expects the finished run in `folder` to be whole, and nothing beside its checkpoints but `aside`. */
export const survived = (folder: string, steps: number, aside: readonly string[] = []): void => {
  const records = linesOf(join(folder, "metrics.jsonl")).filter(({ step }) => step !== 0);
  expect(records.map(({ step }) => step)).toEqual(Array.from({ length: steps }, (_, index) => index + 1));
  for (const record of records) balanced(record);
  expect(records.at(-1)).toMatchObject({ "ledger/in_flight": 0 });

  const trajectories = linesOf(join(folder, "trajectories.jsonl"));
  const trained = trajectories.filter(({ split }) => split === "train");
  expect(new Set(trained.map(({ step }) => step))).toEqual(new Set(records.map(({ step }) => step)));
  const names = sequenceNames(folder);
  expect(names).toHaveLength(new Set(names).size);

  recordedOnce(folder);
  expect(checkpointsOf(folder).at(-1)).toBe(steps);
  expect(readdirSync(join(folder, "checkpoints")).filter((name) => !/^step-\d+$/.test(name))).toEqual(aside);
  expect(readdirSync(folder)).not.toContain("lock");
};
