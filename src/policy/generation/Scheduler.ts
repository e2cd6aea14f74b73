/**
 * Who is fed to the model next: a state machine over sequences, cache rows and shared prefixes that knows nothing of models, threads
 * or token values. Events enter (requests, finished steps, new versions); `plan` says what to move and which one step to run.
 * Invariants: a row belongs to at most one sequence; a sequence with an open request never loses its row; rows are given to waiting
 * sequences in the order of their requests; how a sequence is cut into chunks depends on the sequence alone.
 */
import type { Version } from "../../domain/Episode.ts";
import { type Move, Rows } from "./Rows.ts";

export interface SchedulerOptions {
  /** Sequences with a cache row at once. */
  readonly slots: number;
  /** Most tokens of one prefill step, padding included; also the longest chunk of one sequence. */
  readonly prefillTokens: number;
  /** While others decode, a prefill waits until this many sequences need one … */
  readonly prefillRows: number;
  /** … or this many decode steps have passed. */
  readonly prefillPatience: number;
}

/** New tokens of a prefill are padded to multiples of this. */
export const TIME_BUCKET = 32;
/** Shared prefixes kept, over all versions. */
export const PREFIX_ROWS = 8;

/** A prefix shared by sequences, in its own cache row. */
export interface Prefix {
  readonly version: Version;
  readonly length: number;
  readonly row: number;
  cached: number;
  used: number;
}

export interface Sequence {
  readonly id: number;
  /** The weights version it is held to, or null for the newest. */
  readonly pin: Version | null;
  /** Key and length of the shared prefix it opens with; length 0 without one. */
  readonly prefixKey: string;
  readonly prefixLength: number;
  /** `waiting` for a row, `active` in steps, `idle` between requests. */
  phase: "waiting" | "active" | "idle";
  /** Cache row, -1 without. */
  row: number;
  /** Tokens of its history. */
  length: number;
  /** Leading tokens whose keys and values are in its row. */
  cached: number;
  /** Most tokens that were ever in a row: what is fed below it is fed again. */
  furthest: number;
  /** Order of its open request. */
  ticket: number;
  /** When its last request ended. */
  used: number;
}

/** `count` tokens of a sequence from position `start`; `last` when none are left to feed after them. */
export interface Chunk {
  readonly sequence: Sequence;
  readonly start: number;
  readonly count: number;
  readonly last: boolean;
}

export type Step =
  | { readonly kind: "none" }
  | {
      readonly kind: "prefix";
      readonly version: Version;
      readonly prefix: Prefix;
      /** One that opens with it. */
      readonly sequence: Sequence;
      readonly start: number;
      readonly count: number;
    }
  | { readonly kind: "prefill"; readonly version: Version; readonly chunks: readonly Chunk[] }
  | {
      readonly kind: "decode";
      readonly version: Version;
      readonly sequences: readonly Sequence[];
      readonly from: number;
      readonly to: number;
    };

/** The first `count` positions of a prefix for a sequence's row. */
export interface Load {
  readonly sequence: Sequence;
  readonly prefix: Prefix;
  readonly count: number;
}

export interface Plan {
  /** Rows to exchange, in order, before anything else. */
  readonly moves: readonly Move[];
  /** Rows to fill with the first `count` positions of a prefix, after the moves. */
  readonly loads: readonly Load[];
  readonly step: Step;
}

export interface OpenRequest {
  readonly id: number;
  readonly pin: Version | null;
  readonly prefixKey: string;
  readonly prefixLength: number;
}

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #sequences = new Map<number, Sequence>();
  readonly #rows: Rows<Sequence>;
  readonly #prefixes = new Map<string, Prefix>();
  #waiting: Sequence[] = [];
  #newest: Version;
  #ticket = 0;
  #clock = 0;
  /** Decode steps since a prefill has been possible. */
  #patience = 0;
  /** The version decoded last, so that two versions take turns. */
  #decoded: Version = -1;
  #refilled = 0;

  constructor(options: SchedulerOptions, newest: Version) {
    this.#options = options;
    this.#rows = new Rows(options.slots);
    this.#newest = newest;
  }

  get newest(): Version {
    return this.#newest;
  }

  /** Tokens fed again after an eviction or a recompute. */
  get refilledTokens(): number {
    return this.#refilled;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get active(): number {
    return this.#count("active");
  }

  /** Sequences between requests that still have a row. */
  get idle(): number {
    return [...this.#sequences.values()].filter(({ phase, row }) => phase === "idle" && row >= 0).length;
  }

  sequence(id: number): Sequence | undefined {
    return this.#sequences.get(id);
  }

  /** The sequence in each row, free rows left out. */
  get occupied(): readonly Sequence[] {
    return this.#rows.occupied;
  }

  /** Sequences held to `version`. */
  pinned(version: Version): number {
    let count = 0;
    for (const sequence of this.#sequences.values()) if (sequence.pin === version) count++;
    return count;
  }

  /** Adds a sequence without history. */
  open({ id, pin, prefixKey, prefixLength }: OpenRequest): Sequence {
    if (this.#sequences.has(id)) throw new RangeError(`sequence ${id} is already open`);
    const sequence: Sequence = {
      id,
      pin,
      prefixKey,
      prefixLength,
      phase: "idle",
      row: -1,
      length: 0,
      cached: 0,
      furthest: 0,
      ticket: 0,
      used: 0,
    };
    this.#sequences.set(id, sequence);
    return sequence;
  }

  /** Opens a request on an idle sequence whose history has grown by `appended` tokens. */
  request(sequence: Sequence, appended: number): void {
    if (sequence.phase !== "idle") throw new RangeError(`sequence ${sequence.id} has a request already`);
    sequence.length += appended;
    if (sequence.length <= sequence.cached) throw new RangeError(`sequence ${sequence.id} has nothing to feed`);
    sequence.ticket = this.#ticket++;
    if (sequence.row >= 0) sequence.phase = "active";
    else {
      sequence.phase = "waiting";
      this.#waiting.push(sequence);
    }
  }

  /** The chunk is in the cache. */
  fed({ sequence, start, count }: Chunk): void {
    const end = start + count;
    this.#refilled += Math.max(0, Math.min(end, sequence.furthest) - start);
    sequence.cached = end;
    sequence.furthest = Math.max(sequence.furthest, end);
  }

  /** The decoded token is in the cache. */
  decoded(sequence: Sequence): void {
    sequence.cached++;
    sequence.furthest = Math.max(sequence.furthest, sequence.cached);
  }

  prefixFed(prefix: Prefix, count: number): void {
    prefix.cached += count;
  }

  /** A token was sampled onto the sequence's history. */
  grown(sequence: Sequence): void {
    sequence.length++;
  }

  /** Ends the open request; history longer than `length` is forgotten (a cancelled request leaves no trace). */
  finish(sequence: Sequence, length: number = sequence.length): void {
    if (sequence.phase === "waiting") this.#waiting = this.#waiting.filter((other) => other !== sequence);
    sequence.phase = "idle";
    sequence.used = ++this.#clock;
    sequence.length = length;
    sequence.cached = Math.min(sequence.cached, length);
    sequence.furthest = Math.min(sequence.furthest, length);
  }

  /** Removes a sequence; its row is free at once. */
  release(id: number): void {
    const sequence = this.#sequences.get(id);
    if (sequence === undefined) return;
    this.finish(sequence);
    this.#takeRow(sequence);
    this.#sequences.delete(id);
  }

  /** From the next plan on, sequences that are not pinned use `version`. With `recompute` their caches start again. */
  adopt(version: Version, recompute: boolean, held: (version: Version) => boolean): void {
    this.#newest = version;
    for (const [key, prefix] of this.#prefixes) if (!held(prefix.version)) this.#prefixes.delete(key);
    if (recompute) for (const sequence of this.#sequences.values()) if (sequence.pin === null) sequence.cached = 0;
  }

  plan(): Plan {
    this.#admit();
    const loads: Load[] = [];
    const missing = this.#loadPrefixes(loads);
    if (missing !== undefined) {
      const { prefix, sequence } = missing;
      const start = prefix.cached;
      const count = Math.min(prefix.length - start, this.#options.prefillTokens);
      return { moves: [], loads, step: { kind: "prefix", version: prefix.version, prefix, sequence, start, count } };
    }

    const toPrefill: Sequence[] = [];
    const toDecode: Sequence[] = [];
    for (const sequence of this.#rows.occupied)
      if (sequence.phase === "active" && !this.#awaitsPrefix(sequence))
        (sequence.length - sequence.cached > 1 || sequence.cached === 0 ? toPrefill : toDecode).push(sequence);

    if (toPrefill.length > 0) {
      const enough =
        toDecode.length === 0 ||
        toPrefill.length >= this.#options.prefillRows ||
        this.#patience >= this.#options.prefillPatience;
      if (enough) {
        this.#patience = 0;
        return { moves: [], loads, step: this.#prefill(toPrefill) };
      }
      this.#patience++;
    }
    if (toDecode.length === 0) return { moves: [], loads, step: { kind: "none" } };
    return this.#decode(toDecode, loads);
  }

  /** Weights version of a sequence's next token. */
  versionOf(sequence: Sequence): Version {
    return sequence.pin ?? this.#newest;
  }

  #count(phase: Sequence["phase"]): number {
    let count = 0;
    for (const sequence of this.#sequences.values()) if (sequence.phase === phase) count++;
    return count;
  }

  #takeRow(sequence: Sequence): void {
    if (sequence.row < 0) return;
    this.#rows.free(sequence);
    sequence.cached = 0;
  }

  #admit(): void {
    let admitted = 0;
    for (const sequence of this.#waiting) {
      if (!this.#rows.hasFree) {
        const victim = this.#leastRecentlyUsed();
        if (victim === undefined) break;
        this.#takeRow(victim);
      }
      this.#rows.give(sequence);
      sequence.phase = "active";
      admitted++;
    }
    if (admitted > 0) this.#waiting = this.#waiting.slice(admitted);
  }

  #leastRecentlyUsed(): Sequence | undefined {
    let found: Sequence | undefined;
    for (const sequence of this.#rows.occupied)
      if (sequence.phase === "idle" && (found === undefined || sequence.used < found.used)) found = sequence;
    return found;
  }

  /** Fills empty rows from complete prefixes; gives the first prefix that is needed and not complete. */
  #loadPrefixes(loads: Load[]): { readonly prefix: Prefix; readonly sequence: Sequence } | undefined {
    let missing: { readonly prefix: Prefix; readonly sequence: Sequence } | undefined;
    const now = ++this.#clock;
    for (const sequence of this.#rows.occupied) {
      if (!this.#awaitsPrefix(sequence)) continue;
      const prefix = this.#prefix(sequence, now);
      if (prefix === undefined) continue;
      prefix.used = now;
      if (prefix.cached < prefix.length) {
        if (missing === undefined || sequence.ticket < missing.sequence.ticket) missing = { prefix, sequence };
        continue;
      }
      loads.push({ sequence, prefix, count: prefix.length });
      sequence.cached = prefix.length;
      sequence.furthest = Math.max(sequence.furthest, prefix.length);
    }
    return missing;
  }

  #awaitsPrefix({ phase, cached, prefixLength }: Sequence): boolean {
    return phase === "active" && cached === 0 && prefixLength > 0;
  }

  /** The prefix a sequence opens with, at its version; undefined while every prefix row is in use by others. */
  #prefix(sequence: Sequence, now: number): Prefix | undefined {
    const version = this.versionOf(sequence);
    const key = `${version}/${sequence.prefixKey}`;
    const known = this.#prefixes.get(key);
    if (known !== undefined) return known;
    const taken = new Set([...this.#prefixes.values()].map(({ row }) => row));
    let row = 0;
    while (taken.has(row)) row++;
    if (row >= PREFIX_ROWS) {
      let oldest: [string, Prefix] | undefined;
      for (const entry of this.#prefixes)
        if (entry[1].used < now && (oldest === undefined || entry[1].used < oldest[1].used)) oldest = entry;
      if (oldest === undefined) return undefined;
      this.#prefixes.delete(oldest[0]);
      row = oldest[1].row;
    }
    const prefix: Prefix = { version, length: sequence.prefixLength, row, cached: 0, used: now };
    this.#prefixes.set(key, prefix);
    return prefix;
  }

  /** The oldest request's chunk, and those of others that fit beside it without much padding. */
  #prefill(candidates: readonly Sequence[]): Step {
    const byTicket = [...candidates].sort((a, b) => a.ticket - b.ticket);
    const leader = byTicket[0]!;
    const version = this.versionOf(leader);
    const started = leader.cached > 0;
    const chunks: Chunk[] = [];
    let widest = 0;
    let tokens = 0;
    for (const sequence of byTicket) {
      if (this.versionOf(sequence) !== version || sequence.cached > 0 !== started) continue;
      const left = sequence.length - sequence.cached;
      const count = Math.min(left, this.#options.prefillTokens);
      const width = Math.max(widest, Math.ceil(count / TIME_BUCKET) * TIME_BUCKET);
      const padded = width * (chunks.length + 1);
      if (
        chunks.length > 0 &&
        (padded > this.#options.prefillTokens || padded > 2 * (tokens + count) + 8 * TIME_BUCKET)
      )
        continue;
      widest = width;
      tokens += count;
      chunks.push({ sequence, start: sequence.cached, count, last: count === left });
    }
    return { kind: "prefill", version, chunks };
  }

  #decode(candidates: readonly Sequence[], loads: readonly Load[]): Plan {
    const versions = new Set(candidates.map((sequence) => this.versionOf(sequence)));
    let version = this.versionOf(candidates[0]!);
    if (versions.size > 1) for (const other of versions) if (other !== this.#decoded) version = other;
    this.#decoded = version;
    const sequences = candidates.filter((sequence) => this.versionOf(sequence) === version);
    const moves = this.#rows.gather(
      sequences,
      (sequence) => sequence.phase === "active" && sequence.length - sequence.cached === 1,
    );
    let from = Number.POSITIVE_INFINITY;
    let to = 0;
    for (const { row } of sequences) {
      from = Math.min(from, row);
      to = Math.max(to, row + 1);
    }
    return { moves, loads, step: { kind: "decode", version, sequences, from, to } };
  }
}
