/**
 * Loaded before a run, kills its threads one after the other, as MILLRACE_DEATHS says. The number of deaths stands in a file, because Node now
 * and then loses the process with a thread, and the next process goes on counting.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isMainThread } from "node:worker_threads";
import type { Victim } from "../pipelines/deaths.ts";

export interface Deaths {
  /** Folder of the order for lanes and of the count. */
  readonly folder: string;
  readonly seed: number;
  readonly most: number;
}

const kinds = ["learner-lane-2", "learner", "generator-0"] as const satisfies readonly Victim[];
const countIn = (folder: string): string => join(folder, "deaths");

/** The number of deaths so far. */
export const deathsSoFar = (folder: string): number =>
  existsSync(countIn(folder)) ? Number(readFileSync(countIn(folder), "utf8")) : 0;

/** Variables under which a process kills its threads. */
export const dying = (deaths: Deaths): Readonly<Record<string, string>> => ({
  MILLRACE_DEATHS: JSON.stringify(deaths),
  NODE_OPTIONS: `--import ${import.meta.url}`,
});

// Every thread of the process loads this file, and those that die need none of the rest.
if (isMainThread && process.env.MILLRACE_DEATHS !== undefined) {
  const { Effect, Scope } = await import("effect");
  const { stream } = await import("../../src/domain/Random.ts");
  const { killOn } = await import("../pipelines/deaths.ts");
  const { folder, most, seed }: Deaths = JSON.parse(process.env.MILLRACE_DEATHS);
  // Each kind of thread dies as often as the others, or once more.
  const random = stream({ seed, purpose: "noise", counters: [] });
  const victims = random.shuffle(Array.from({ length: most }, (_, death) => kinds[death % kinds.length]!));
  // Answers of the learner: start, version, then update and save of each window. A thread dies in its second window.
  const victimAt = (answer: number): Victim | null => {
    const death = deathsSoFar(folder);
    if (death === most || answer !== 5 + (death % 2)) return null;
    writeFileSync(countIn(folder), String(death + 1));
    return victims[death]!;
  };
  Effect.runSync(Scope.provide(killOn(folder, "learner", victimAt), Scope.makeUnsafe()));
}
