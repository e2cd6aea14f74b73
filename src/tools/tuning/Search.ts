/**
 * Looks for the settings with the most windows an hour, in virtual time: all combinations of threads, slots, lanes and passes, then the
 * other settings one by one. Invariant: among equally good settings, those win that change least of the run file.
 */
import type { Machine } from "../simulation/replay/Machine.ts";
import type { Settings } from "../simulation/replay/Training.ts";
import type { Throughput } from "./ObservedRun.ts";
import { predict, type Workload } from "./Predict.ts";
import { type Bounds, changes, sameSettings, threadsSpace, variations } from "./Space.ts";

export interface Candidate {
  readonly settings: Settings;
  readonly predicted: Throughput;
}

/** Windows that are played for a first look, and for the ones that are close. */
const glance = 6;
const look = 24;

/** Less than this share is no gain. */
const worthwhile = 0.02;

/** Virtual time does not tell settings apart that are closer than this. */
const discernible = 0.01;

/** One more changed key must gain this share. */
const perKey = 0.003;

/** The first of those that virtual time plays alike to the last digit: more lanes than passes, say, or more slots than there are replies. */
const distinct = (candidates: readonly Candidate[]): readonly Candidate[] => {
  const unique = new Map(candidates.toReversed().map((candidate) => [JSON.stringify(candidate.predicted), candidate]));
  return candidates.filter((candidate) => unique.get(JSON.stringify(candidate.predicted)) === candidate);
};

export interface SearchResult {
  /** Candidates that are faster than the run file's own settings, the best first, no two the same in effect. */
  readonly best: readonly Candidate[];
  readonly shipped: Candidate;
  /** The number of settings looked at. */
  readonly count: number;
}

/** A search in steps of one look each, so that whoever runs it can do something else between them. */
export function* search(
  machine: Machine,
  shipped: Settings,
  workload: Workload,
  bounds: Bounds,
): Generator<{ readonly done: number; readonly of: number }, SearchResult> {
  const evaluate = (settings: Settings, windows: number): Candidate => ({
    settings,
    predicted: predict(machine, settings, workload, windows),
  });
  const value = ({ predicted, settings }: Candidate): number =>
    predicted.windowsPerHour * (1 - perKey * changes(shipped, settings).size);
  const ranked = (candidates: readonly Candidate[]) => distinct(candidates.toSorted((a, b) => value(b) - value(a)));

  const space = threadsSpace(shipped, bounds);
  let candidates: Candidate[] = [];
  for (const settings of space) {
    candidates.push(evaluate(settings, glance));
    yield { done: candidates.length, of: space.length + 16 };
  }
  const shippedCandidate = evaluate(shipped, look);
  candidates = ranked(candidates)
    .slice(0, 12)
    .map(({ settings }) => evaluate(settings, look));
  yield { done: space.length + 8, of: space.length + 16 };
  const [first] = ranked(candidates);
  let count = space.length;
  for (const settings of variations(first?.settings ?? shipped, bounds)) {
    count++;
    candidates.push(evaluate(settings, look));
    yield { done: space.length + 12, of: space.length + 16 };
  }
  const others = ranked(candidates).filter(
    ({ predicted, settings }) =>
      !sameSettings(settings, shipped) &&
      predicted.windowsPerHour >= (1 + discernible) * shippedCandidate.predicted.windowsPerHour,
  );
  return { best: apart(others), shipped: shippedCandidate, count };
}

/** The best of each combination of threads and passes first: candidates that fail alike tell little. */
const apart = (candidates: readonly Candidate[]): readonly Candidate[] => {
  const kind = ({ settings: { generatorThreads, lanes, microBatchTokens } }: Candidate) =>
    [generatorThreads, lanes, microBatchTokens].join();
  const first = candidates.filter(
    (candidate, i) => candidates.findIndex((other) => kind(other) === kind(candidate)) === i,
  );
  return [...first, ...candidates.filter((candidate) => !first.includes(candidate))];
};

/** The pace under other bounds on staleness, everything else as it is. */
export const trilemma = (
  machine: Machine,
  settings: Settings,
  workload: Workload,
  fits: Bounds["fits"],
): readonly Candidate[] => {
  const bounds = settings.mode === "async" ? [1, 2, 4, 8].filter((bound) => bound !== settings.maxStaleness) : [2];
  const others: readonly Settings[] = [
    ...(settings.mode === "async" ? [{ ...settings, mode: "sync" as const }] : []),
    ...bounds.map((maxStaleness) => ({ ...settings, mode: "async" as const, maxStaleness })),
  ];
  return others.filter(fits).map((other) => ({ settings: other, predicted: predict(machine, other, workload, look) }));
};

/** `gain` is a share. */
export const isWorthwhile = (gain: number): boolean => gain >= worthwhile;
