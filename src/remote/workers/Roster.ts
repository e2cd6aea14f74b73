/**
 * The workers of a run by their own reports, as a state machine without a clock. All times are the learner's: a worker's clock decides
 * nothing. Invariant: only workers that are up count, and one that is shut out never counts again.
 */
import type { ServerState } from "../../domain/Server.ts";
import type { WorkerGauges } from "./Messages.ts";

interface WorkerRecord {
  gauges: WorkerGauges;
  heardAt: number;
  state: "Up" | "Lost";
}

/** A worker came up, was lost, or was shut out. */
export interface RosterChange {
  readonly worker: string;
  readonly to: Extract<ServerState["_tag"], "Up" | "Lost" | "ShutOut">;
  readonly why: string;
}

export interface RosterTotals {
  readonly workers: number;
  /** Groups that all workers together can play at once. */
  readonly groups: number;
  readonly slots: number;
  readonly playing: number;
  readonly tokensPerSecond: number;
  /** The oldest version that any worker samples with; undefined without a worker. */
  readonly oldestVersion: number | undefined;
}

/** The roster remembers so many workers, lost ones included. */
const MOST_REMEMBERED = 4_096;

export class Roster {
  readonly #silentMs: number;
  /** Ordered by the time of the last report, oldest first. */
  readonly #records = new Map<string, WorkerRecord>();
  readonly #shutOut = new Set<string>();

  constructor(silentMs: number) {
    this.#silentMs = silentMs;
  }

  /** Records a worker's report. Returns a change if the worker was not up before. */
  report(worker: string, gauges: WorkerGauges, now: number): RosterChange | undefined {
    const before = this.#records.get(worker);
    if (before === undefined && this.#records.size >= MOST_REMEMBERED) return undefined;
    this.#records.delete(worker);
    this.#records.set(worker, { gauges, heardAt: now, state: "Up" });
    return before?.state === "Up" ? undefined : { worker, to: "Up", why: "it has joined" };
  }

  /** Records that a worker leaves. */
  leave(worker: string): RosterChange | undefined {
    const record = this.#records.get(worker);
    if (record === undefined || record.state !== "Up") return undefined;
    record.state = "Lost";
    return { worker, to: "Lost", why: "it has left" };
  }

  /** Excludes a worker for good: its later reports count for nothing. */
  shutOut(worker: string, why: string): RosterChange {
    this.#records.delete(worker);
    this.#shutOut.add(worker);
    return { worker, to: "ShutOut", why };
  }

  isShutOut(worker: string): boolean {
    return this.#shutOut.has(worker);
  }

  get shutOutNames(): readonly string[] {
    return [...this.#shutOut];
  }

  /** Time at which the next worker has been silent for too long; undefined when none is up. */
  get nextDeadline(): number | undefined {
    for (const { heardAt, state } of this.#records.values()) if (state === "Up") return heardAt + this.#silentMs;
    return undefined;
  }

  /** Marks as lost the workers that have been silent for too long. */
  expire(now: number): readonly RosterChange[] {
    const changes: RosterChange[] = [];
    for (const [worker, record] of this.#records) {
      if (record.state !== "Up") continue;
      if (record.heardAt + this.#silentMs > now) break;
      record.state = "Lost";
      const seconds = Math.round((now - record.heardAt) / 1_000);
      changes.push({ worker, to: "Lost", why: `nothing was heard of it for ${seconds} s` });
    }
    return changes;
  }

  totals(): RosterTotals {
    const up = [...this.#records.values()].filter(({ state }) => state === "Up").map(({ gauges }) => gauges);
    const sum = (field: (gauges: WorkerGauges) => number): number =>
      up.reduce((total, gauges) => total + field(gauges), 0);
    return {
      workers: up.length,
      groups: sum(({ groups }) => groups),
      slots: sum(({ slots }) => slots),
      playing: sum(({ playing }) => playing),
      tokensPerSecond: sum(({ tokensPerSecond }) => tokensPerSecond),
      oldestVersion:
        up.length === 0
          ? undefined
          : up.reduce((least, { version }) => Math.min(least, version), Number.MAX_SAFE_INTEGER),
    };
  }
}
