/**
 * Who is fed to the model next: a state machine over sequences, cache rows and shared prefixes that knows nothing of models, threads
 * or token values. Events enter (requests, finished steps, new versions); `plan` says what to move and which one step to run.
 * Invariants: a row belongs to at most one sequence; a sequence with an open request never loses its row; rows are given to waiting
 * sequences in the order of their requests; how a sequence is cut into chunks depends on the sequence alone.
 */
import type { Version } from "../../domain/Episode.ts";
import type { Chunk, Load, Plan, Prefix, PrefixChunk, Sequence } from "./Plan.ts";
import { Prefixes } from "./Prefixes.ts";
import { Rows } from "./Rows.ts";

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
export const TIME_BUCKET = 16;
/** Padding that is worth a step saved, in tokens. */
const PADDING = 256;

/** Shared prefixes kept: enough for small groups to have one each. */
export const prefixRows = (slots: number): number => Math.max(8, slots >> 2);

export interface OpenRequest {
  readonly id: number;
  readonly pin: Version | null;
  readonly prefixKey: string;
  readonly prefixLength: number;
}

/** What has tokens left to feed: a sequence or a prefix. */
interface Feedable {
  readonly version: Version;
  readonly cached: number;
  readonly length: number;
  readonly ticket: number;
}

interface Missing extends Feedable {
  readonly prefix: Prefix;
  readonly sequence: Sequence;
}

interface Chosen<A> extends Omit<Chunk, "sequence"> {
  readonly item: A;
}

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #sequences = new Map<number, Sequence>();
  readonly #rows: Rows<Sequence>;
  readonly #prefixes: Prefixes;
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
    this.#prefixes = new Prefixes(prefixRows(options.slots));
    this.#newest = newest;
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

  prefixFed({ prefix, count }: PrefixChunk): void {
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
  adopt(version: Version, recompute: boolean): void {
    this.#newest = version;
    if (recompute) for (const sequence of this.#sequences.values()) if (sequence.pin === null) sequence.cached = 0;
  }

  plan(): Plan {
    this.#admit();
    const loads: Load[] = [];
    const missing = this.#loadPrefixes(loads);
    if (missing.length > 0) {
      const { version, chosen } = this.#pack(missing);
      const chunks = chosen.map(({ item, ...chunk }) => ({ ...chunk, sequence: item.sequence, prefix: item.prefix }));
      return { moves: [], loads, step: { kind: "prefix", version, chunks } };
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
        const { version, chosen } = this.#pack(
          toPrefill.map((sequence) => {
            const { cached, length, ticket } = sequence;
            return { sequence, version: this.versionOf(sequence), cached, length, ticket };
          }),
        );
        const chunks = chosen.map(({ item, ...chunk }) => ({ ...chunk, sequence: item.sequence }));
        return { moves: [], loads, step: { kind: "prefill", version, chunks } };
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

  /** Fills empty rows from complete prefixes; gives those that are needed and not complete. */
  #loadPrefixes(loads: Load[]): readonly Missing[] {
    const missing = new Map<Prefix, Missing>();
    const now = ++this.#clock;
    for (const sequence of this.#rows.occupied) {
      if (!this.#awaitsPrefix(sequence)) continue;
      const version = this.versionOf(sequence);
      const prefix = this.#prefixes.find(version, sequence.prefixKey, sequence.prefixLength, now);
      if (prefix === undefined) continue;
      const { cached, length } = prefix;
      if (cached < length) {
        const known = missing.get(prefix);
        if (known === undefined || sequence.ticket < known.ticket)
          missing.set(prefix, { prefix, sequence, version, cached, length, ticket: sequence.ticket });
        continue;
      }
      loads.push({ sequence, prefix, count: length });
      sequence.cached = length;
      sequence.furthest = Math.max(sequence.furthest, length);
    }
    return [...missing.values()];
  }

  #awaitsPrefix({ phase, cached, prefixLength }: Sequence): boolean {
    return phase === "active" && cached === 0 && prefixLength > 0;
  }

  /** The oldest request's chunk, and those of others that fit beside it without much padding. */
  #pack<A extends Feedable>(
    candidates: readonly A[],
  ): { readonly version: Version; readonly chosen: readonly Chosen<A>[] } {
    const { prefillTokens } = this.#options;
    const byTicket = candidates.toSorted((a, b) => a.ticket - b.ticket);
    const { version, cached } = byTicket[0]!;
    const chosen: Chosen<A>[] = [];
    let widest = 0;
    let tokens = 0;
    for (const item of byTicket) {
      // Rows with and without a past are different graphs.
      if (item.version !== version || item.cached > 0 !== cached > 0) continue;
      const left = item.length - item.cached;
      const count = Math.min(left, prefillTokens);
      const width = Math.max(widest, Math.ceil(count / TIME_BUCKET) * TIME_BUCKET);
      const padded = width * (chosen.length + 1);
      const wasteful = padded > prefillTokens || padded > 2 * (tokens + count) + PADDING;
      if (chosen.length > 0 && wasteful) continue;
      widest = width;
      tokens += count;
      chosen.push({ item, start: item.cached, count, last: count === left });
    }
    return { version, chosen };
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
