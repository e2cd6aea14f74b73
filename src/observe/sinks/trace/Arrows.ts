/**
 * Arrows from the update that made a version of the weights to the first reply of each slot sampled with it. A reply may arrive
 * before its update, and then waits. A pure state machine that remembers only the newest versions.
 */
import type { VersionRun } from "../../../domain/EpisodeSummary.ts";
import * as TraceEvent from "./TraceEvent.ts";

/** Versions that arrows may still leave from, and replies that may wait for one. */
const REMEMBERED = 64;

/** A span on its track. */
export interface PlacedSpan extends TraceEvent.Track {
  readonly start: number;
  readonly end: number;
}

/** The time at which the first token of each version was sampled, if all tokens take equally long. */
const firsts = ({ start, end }: PlacedSpan, runs: readonly VersionRun[]): readonly (readonly [number, number])[] => {
  const total = runs.reduce((sum, [, tokens]) => sum + tokens, 0);
  let before = 0;
  return runs.map(([version, tokens]) => {
    const at = start + ((end - start) * before) / Math.max(1, total);
    before += tokens;
    return [version, at] as const;
  });
};

interface WaitingReply {
  readonly version: number;
  readonly reply: PlacedSpan;
  readonly at: number;
}

export class Arrows {
  readonly #updates = new Map<number, PlacedSpan>();
  /** Newest version that an arrow has brought to a slot, by its track. */
  readonly #newest = new Map<number, number>();
  #waiting: readonly WaitingReply[] = [];
  #ids = 0;

  /** The entries of arrows that waited for this update. */
  addUpdate(version: number, update: PlacedSpan): readonly string[] {
    this.#updates.set(version, update);
    if (this.#updates.size > REMEMBERED) this.#updates.delete(Math.min(...this.#updates.keys()));
    const ready = this.#waiting.filter((waiting) => waiting.version === version);
    this.#waiting = this.#waiting.filter((waiting) => waiting.version > version);
    return ready.flatMap((waiting) => this.#arrow(update, waiting));
  }

  /** The entries of arrows that reach this reply. */
  addReply(reply: PlacedSpan, runs: readonly VersionRun[]): readonly string[] {
    return firsts(reply, runs).flatMap(([version, at]) => {
      if (version <= (this.#newest.get(reply.tid) ?? 0)) return [];
      this.#newest.set(reply.tid, version);
      const update = this.#updates.get(version);
      if (update !== undefined) return this.#arrow(update, { version, reply, at });
      // The version is older than all remembered ones, or not known yet.
      const newestUpdate = Math.max(0, ...this.#updates.keys());
      if (version > newestUpdate) this.#waiting = [...this.#waiting, { version, reply, at }].slice(-REMEMBERED * 16);
      return [];
    });
  }

  /** The arrow never points back in time, and both ends lie inside their spans. */
  #arrow(update: PlacedSpan, { at, reply, version }: WaitingReply): readonly string[] {
    const leaves = Math.max(update.start, Math.min(update.end, at) - 0.001);
    const reaches = Math.min(reply.end, Math.max(at, leaves));
    this.#ids++;
    return TraceEvent.arrow(
      `weights v${version}`,
      this.#ids,
      { pid: update.pid, tid: update.tid, at: leaves },
      { pid: reply.pid, tid: reply.tid, at: reaches },
    );
  }
}
