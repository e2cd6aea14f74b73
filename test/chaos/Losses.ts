/**
 * Adds up the seconds of generation that kills cost: those since the newest reply in the log, and those since the newest checkpoint, which would
 * be lost without a log. Both are upper bounds, because a generator may have waited or validated meanwhile.
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { linesOf } from "./Trial.ts";

interface Loss {
  readonly withLog: number;
  readonly withoutLog: number;
}

/** Time of the newest change of what is named so in a folder, milliseconds since the Unix epoch; 0 without one. */
const newestIn = (folder: string, isNamed: RegExp): number => {
  const names = (existsSync(folder) ? readdirSync(folder) : []).filter((name) => isNamed.test(name));
  return names.reduce((newest, name) => Math.max(newest, statSync(join(folder, name)).mtimeMs), 0);
};

/** Returns what a process lost that was killed in a run's folder. It had lost nothing if it had not begun to play. */
const lossIn = (folder: string, startedMs: number, killedMs: number): Loss => {
  const events = linesOf(join(folder, "events.jsonl"), { endsInPart: true });
  const playing = events.find(({ at }) => Number(at) >= startedMs);
  if (playing === undefined) return { withLog: 0, withoutLog: 0 };
  const saved = Math.max(Number(playing.at), newestIn(join(folder, "checkpoints"), /^step-\d+$/));
  const logged = Math.max(saved, newestIn(join(folder, "replies"), /\.bin$/));
  return { withLog: (killedMs - logged) / 1000, withoutLog: (killedMs - saved) / 1000 };
};

const summary = (seconds: readonly number[]): string => {
  const mean = seconds.reduce((sum, each) => sum + each, 0) / Math.max(1, seconds.length);
  return `mean ${mean.toFixed(2)}, worst ${Math.max(0, ...seconds).toFixed(2)}`;
};

export class Losses {
  readonly #losses: Loss[] = [];

  get kills(): number {
    return this.#losses.length;
  }

  /** Adds the kill of a process; `folder` is its run's, null if it had none yet. Times are milliseconds since the Unix epoch. */
  add(folder: string | null, startedMs: number, killedMs: number): void {
    this.#losses.push(folder === null ? { withLog: 0, withoutLog: 0 } : lossIn(folder, startedMs, killedMs));
  }

  toString(): string {
    const withLog = summary(this.#losses.map((loss) => loss.withLog));
    const withoutLog = summary(this.#losses.map((loss) => loss.withoutLog));
    return `seconds of generation lost a kill: ${withLog}; without the log of replies: ${withoutLog}`;
  }
}
