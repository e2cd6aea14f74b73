/**
 * Short labels of runs: name and time stamp, with the middle of a long name left out. Invariant: two runs that differ in name or
 * stamp have different labels.
 */
import type { RunCard } from "../Api.ts";

type Named = Pick<RunCard, "id" | "name" | "stamp">;

const HEAD = 16;
const TAIL = 15;
/** Characters before the first difference that are kept for orientation. */
const BEFORE = 4;

const shortened = (name: string): string =>
  name.length <= HEAD + TAIL + 1 ? name : `${name.slice(0, HEAD)}…${name.slice(-TAIL)}`;

/** The number of characters at the start that two texts share. */
const commonLength = (a: string, b: string): number => {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
};

/** A name from a little before the place where it differs from each of the others. */
const differing = (name: string, others: readonly string[]): string => {
  const from = Math.max(...others.map((other) => commonLength(name, other))) - BEFORE;
  return from > 0 ? `…${name.slice(from)}` : name;
};

/** Labels by id. Names that would look alike shortened begin where they differ; where that is not enough, all stand whole. */
export const runLabels = (runs: readonly Named[]): ReadonlyMap<string, string> => {
  const names = [...new Set(runs.map(({ name }) => name))];
  const labels = new Map<string, string>();
  for (const [short, alike] of Map.groupBy(names, shortened)) {
    for (const name of alike) {
      const others = alike.filter((other) => other !== name);
      labels.set(name, others.length === 0 ? short : differing(name, others));
    }
  }
  const isEnough = new Set(labels.values()).size === names.length;
  return new Map(runs.map(({ id, name, stamp }) => [id, `${isEnough ? labels.get(name) : name} · ${stamp}`]));
};
