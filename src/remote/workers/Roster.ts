/**
 * The workers of a run as they say of themselves, as a state machine without a clock: who has joined, what it can play, when it was last heard.
 * Times are the learner's: a worker's clock decides nothing. Invariant: only workers that are up count, and one that is shut out never does again.
 */
import type { ServerState } from "../../domain/Server.ts";
import type { Gauges } from "./Messages.ts";

interface Entry {
  gauges: Gauges;
  seen: number;
  state: "Up" | "Lost";
}

/** A worker came up, or fell silent or left, or is shut out. */
export interface Change {
  readonly worker: string;
  readonly to: Extract<ServerState["_tag"], "Up" | "Lost" | "ShutOut">;
  readonly why: string;
}

export interface Totals {
  readonly workers: number;
  /** Groups that they can take at once. */
  readonly groups: number;
  readonly slots: number;
  readonly playing: number;
  readonly tokensPerSecond: number;
  /** The oldest version that one of them samples with; undefined without a worker. */
  readonly oldest: number | undefined;
}

/** Workers that are remembered after they are gone. */
const most = 4_096;

export class Roster {
  readonly #silentMs: number;
  /** In the order in which they were last heard. */
  readonly #entries = new Map<string, Entry>();
  readonly #shutOut = new Set<string>();

  constructor(silentMs: number) {
    this.#silentMs = silentMs;
  }

  /** A worker told its gauges; the change where it was not up before. */
  heard(worker: string, gauges: Gauges, now: number): Change | undefined {
    const before = this.#entries.get(worker);
    if (before === undefined && this.#entries.size >= most) return undefined;
    this.#entries.delete(worker);
    this.#entries.set(worker, { gauges, seen: now, state: "Up" });
    return before?.state === "Up" ? undefined : { worker, to: "Up", why: "it has joined" };
  }

  /** A worker said that it leaves. */
  left(worker: string): Change | undefined {
    const entry = this.#entries.get(worker);
    if (entry === undefined || entry.state !== "Up") return undefined;
    entry.state = "Lost";
    return { worker, to: "Lost", why: "it has left" };
  }

  /** From here on the worker counts as none, whatever it says. */
  shutOut(worker: string, why: string): Change {
    this.#entries.delete(worker);
    this.#shutOut.add(worker);
    return { worker, to: "ShutOut", why };
  }

  isShutOut(worker: string): boolean {
    return this.#shutOut.has(worker);
  }

  /** The names of those that are shut out. */
  get outside(): readonly string[] {
    return [...this.#shutOut];
  }

  /** When the next worker counts as silent; undefined where none is up. */
  get deadline(): number | undefined {
    for (const { seen, state } of this.#entries.values()) if (state === "Up") return seen + this.#silentMs;
    return undefined;
  }

  /** The workers that have been silent for too long, from here on lost. */
  silent(now: number): readonly Change[] {
    const changes: Change[] = [];
    for (const [worker, entry] of this.#entries) {
      if (entry.state !== "Up") continue;
      if (entry.seen + this.#silentMs > now) break;
      entry.state = "Lost";
      const seconds = Math.round((now - entry.seen) / 1_000);
      changes.push({ worker, to: "Lost", why: `nothing was heard of it for ${seconds} s` });
    }
    return changes;
  }

  totals(): Totals {
    const up = [...this.#entries.values()].filter(({ state }) => state === "Up").map(({ gauges }) => gauges);
    const sum = (of: (gauges: Gauges) => number): number => up.reduce((total, gauges) => total + of(gauges), 0);
    return {
      workers: up.length,
      groups: sum(({ groups }) => groups),
      slots: sum(({ slots }) => slots),
      playing: sum(({ playing }) => playing),
      tokensPerSecond: sum(({ tokensPerSecond }) => tokensPerSecond),
      oldest:
        up.length === 0
          ? undefined
          : up.reduce((least, { version }) => Math.min(least, version), Number.MAX_SAFE_INTEGER),
    };
  }
}
