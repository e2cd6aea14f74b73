/**
 * Chooses the tokens that are fed to the model next: a state machine over sequences, cache rows and shared prefixes, without models or
 * token values. Events change its state; `plan` returns the rows to swap and the step to run. Invariants: waiting sequences get rows in the
 * order of their requests; how a sequence is cut into chunks and steps depends on the sequence alone, and exact refeeding repeats it.
 */
import type { CacheFill, Version } from "../domain/Episode.ts";
import { addFill, prefixFills, truncateFills } from "./cacheFills.ts";
import {
  emptyTrace,
  extendTrace,
  type FeedSpan,
  type FeedTrace,
  spanAt,
  tracedLength,
  truncateTrace,
} from "./FeedTrace.ts";
import { type FeedCandidate, pack } from "./Packing.ts";
import { PrefillTiming, type PrefillTimingOptions } from "./PrefillTiming.ts";
import { Prefixes } from "./Prefixes.ts";
import { RowQueue } from "./RowQueue.ts";
import type { Chunk, Prefix, PrefixChunk, PrefixLoad, Sequence, StepPlan } from "./StepPlan.ts";

export interface SchedulerOptions extends PrefillTimingOptions {
  /** Number of cache rows, one per sequence. */
  readonly slots: number;
  /** Most tokens of one prefill step, padding included; also the longest chunk of one sequence. */
  readonly prefillTokens: number;
  /**
   * Feeding of a sequence that lost its row: `exact` repeats the spans of its first feeding, which gives the same bits; `fast` takes as few
   * chunks as possible.
   */
  readonly refeeding: "exact" | "fast";
  /** True if replies tell which version filled which positions of their sequence's cache. Default false. */
  readonly recordsFills?: boolean;
}

/** Returns the number of shared prefixes to keep. Small groups can have one each; there are never more than sequences. */
export const prefixRows = (slots: number): number => Math.min(slots, Math.max(8, slots >> 2));

export interface NewSequence {
  readonly id: number;
  readonly pin: Version | null;
  readonly prefixKey: string;
  readonly prefixLength: number;
  /** Feeding of the history that it opens with, if that was fed before. Default none. */
  readonly trace?: FeedTrace;
}

/** A shared prefix that is not fully cached, and the oldest sequence that needs it. */
interface IncompletePrefix extends FeedCandidate {
  readonly prefix: Prefix;
  readonly sequence: Sequence;
}

const awaitsPrefix = ({ phase, cached, prefixLength }: Sequence): boolean =>
  phase === "active" && cached === 0 && prefixLength > 0;

/** The version whose turn it is after `last`: the next newer one, or from the newest again the oldest. So no waiting version starves. */
const nextInTurn = (versions: ReadonlySet<Version>, last: Version): Version => {
  const newer = [...versions].filter((version) => version > last);
  return Math.min(...(newer.length > 0 ? newer : versions));
};

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #sequences = new Map<number, Sequence>();
  readonly #rows: RowQueue;
  readonly #prefixes: Prefixes;
  readonly #timing: PrefillTiming;
  #newest: Version;
  #ticket = 0;
  #clock = 0;
  /** Version of the last decode step; versions take turns. */
  #lastDecoded: Version = -1;
  #refedTokens = 0;

  constructor(options: SchedulerOptions, newest: Version) {
    this.#options = options;
    this.#rows = new RowQueue(options.slots);
    this.#prefixes = new Prefixes(prefixRows(options.slots));
    this.#timing = new PrefillTiming(options);
    this.#newest = newest;
  }

  /** Tokens fed again after an eviction, a recompute or a resume. */
  get refedTokens(): number {
    return this.#refedTokens;
  }

  /** Requests whose sequence has no cache row yet. */
  get waiting(): number {
    return this.#rows.waiting;
  }

  get active(): number {
    let count = 0;
    for (const { phase } of this.#sequences.values()) if (phase === "active") count++;
    return count;
  }

  /** Sequences between requests that still have a row. */
  get idle(): number {
    return [...this.#sequences.values()].filter(({ phase, row }) => phase === "idle" && row >= 0).length;
  }

  sequence(id: number): Sequence | undefined {
    return this.#sequences.get(id);
  }

  /** The sequences that have a row, in row order. */
  get occupied(): readonly Sequence[] {
    return this.#rows.occupied;
  }

  /** Adds a sequence without history. */
  open({ id, pin, prefixKey, prefixLength, trace = emptyTrace }: NewSequence): Sequence {
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
      trace,
      fills: this.#options.recordsFills === true ? [] : undefined,
      ticket: 0,
      lastUsed: 0,
    };
    this.#sequences.set(id, sequence);
    return sequence;
  }

  /** Opens a request on an idle sequence whose history has grown by `appended` tokens. */
  request(sequence: Sequence, appended: number): void {
    if (sequence.phase !== "idle") throw new RangeError(`sequence ${sequence.id} has a request already`);
    sequence.length += appended;
    if (sequence.length <= sequence.cached) throw new RangeError(`sequence ${sequence.id} has nothing to feed`);
    // Nothing depends any more on what a cancelled request filled.
    if (sequence.cached === 0 && sequence.fills !== undefined) sequence.fills = [];
    sequence.ticket = this.#ticket++;
    this.#rows.join(sequence);
  }

  /** Records that the chunk of a prefill is cached, computed by `version`. */
  recordFed(chunk: Chunk, version: Version): void {
    this.#recordCached(chunk, "chunk", version);
  }

  /** Records that the chunk of a decode step is cached, computed by `version`. */
  recordDecoded(chunk: Chunk, version: Version): void {
    this.#recordCached(chunk, "step", version);
  }

  recordPrefixFed({ prefix, count }: PrefixChunk): void {
    prefix.cached += count;
  }

  /** Records that a token was sampled onto the sequence's history. */
  recordSampled(sequence: Sequence): void {
    sequence.length++;
  }

  /** Returns the fills since the last call; undefined if they are not recorded. */
  takeFills(sequence: Sequence): readonly CacheFill[] | undefined {
    const { fills } = sequence;
    if (fills !== undefined) sequence.fills = [];
    return fills;
  }

  /** Ends the open request. History beyond `length` is forgotten, so that a cancelled request leaves no trace. */
  finish(sequence: Sequence, length: number = sequence.length): void {
    this.#rows.leave(sequence);
    sequence.lastUsed = ++this.#clock;
    sequence.length = length;
    sequence.cached = Math.min(sequence.cached, length);
    sequence.trace = truncateTrace(sequence.trace, length);
    if (sequence.fills !== undefined) sequence.fills = truncateFills(sequence.fills, length);
  }

  /** Removes a sequence; its row is free at once. */
  release(id: number): void {
    const sequence = this.#sequences.get(id);
    if (sequence === undefined) return;
    this.finish(sequence);
    this.#rows.vacate(sequence);
    this.#sequences.delete(id);
  }

  /** Makes `version` the one of all sequences without a pin, from the next plan on. With `recompute` their caches are fed again. */
  adopt(version: Version, recompute: boolean): void {
    this.#newest = version;
    if (recompute) for (const sequence of this.#sequences.values()) if (sequence.pin === null) sequence.cached = 0;
  }

  /** Hands out rows and plans the next step: shared prefixes come first, then prefills, then decoding (PrefillTiming). */
  plan(): StepPlan {
    this.#rows.admit();
    const loads: PrefixLoad[] = [];
    const incomplete = this.#loadPrefixes(loads);
    const toPrefill: Sequence[] = [];
    const toDecode: Sequence[] = [];
    for (const sequence of this.#rows.occupied)
      if (sequence.phase === "active" && !awaitsPrefix(sequence))
        (this.#nextSpan(sequence).form === "step" ? toDecode : toPrefill).push(sequence);

    const counts = { prefixes: incomplete.length, prompts: toPrefill.length, decoding: toDecode.length };
    switch (this.#timing.next(counts)) {
      case "prefix":
        return this.#planPrefixes(incomplete, loads);
      case "prefill":
        return this.#planPrefill(toPrefill, loads);
      case "decode":
        return toDecode.length > 0 ? this.#planDecode(toDecode, loads) : { swaps: [], loads, step: { kind: "none" } };
    }
  }

  /** Returns the weights version of a sequence's next token. */
  versionOf(sequence: Sequence): Version {
    return sequence.pin ?? this.#newest;
  }

  /** Returns the span to feed next: the rest of the traced span at the cached length, or all tokens that were never cached. */
  #nextSpan({ cached, length, trace }: Sequence): FeedSpan {
    const span = this.#options.refeeding === "exact" ? spanAt(trace, cached) : undefined;
    return span ?? { form: cached > 0 && length - cached === 1 ? "step" : "chunk", end: length };
  }

  #recordCached({ sequence, start, count }: Chunk, form: "chunk" | "step", version: Version): void {
    const end = start + count;
    this.#refedTokens += Math.max(0, Math.min(end, tracedLength(sequence.trace)) - start);
    sequence.cached = end;
    sequence.trace = extendTrace(sequence.trace, form, end);
    if (sequence.fills !== undefined) sequence.fills = addFill(sequence.fills, { form, from: start, to: end, version });
  }

  #planPrefixes(incomplete: readonly IncompletePrefix[], loads: readonly PrefixLoad[]): StepPlan {
    const { version, chunks: packed } = pack(incomplete, this.#options.prefillTokens);
    const chunks = packed.map(({ item, ...chunk }) => ({ ...chunk, sequence: item.sequence, prefix: item.prefix }));
    return { swaps: [], loads, step: { kind: "prefix", version, chunks } };
  }

  #planPrefill(sequences: readonly Sequence[], loads: readonly PrefixLoad[]): StepPlan {
    const feedable = sequences.map((sequence) => {
      const { cached, length, ticket } = sequence;
      return { sequence, version: this.versionOf(sequence), cached, end: this.#nextSpan(sequence).end, length, ticket };
    });
    const { version, chunks: packed } = pack(feedable, this.#options.prefillTokens);
    const chunks = packed.map(({ item, ...chunk }) => ({ ...chunk, sequence: item.sequence }));
    return { swaps: [], loads, step: { kind: "prefill", version, chunks } };
  }

  /** Fills empty rows from complete prefixes; returns the prefixes that are needed and incomplete. */
  #loadPrefixes(loads: PrefixLoad[]): readonly IncompletePrefix[] {
    const incomplete = new Map<Prefix, IncompletePrefix>();
    const tick = ++this.#clock;
    for (const sequence of this.#rows.occupied) {
      if (!awaitsPrefix(sequence)) continue;
      const version = this.versionOf(sequence);
      const prefix = this.#prefixes.find(version, sequence.prefixKey, sequence.prefixLength, tick);
      if (prefix === undefined) continue;
      const { cached, length } = prefix;
      if (cached < length) {
        const earlier = incomplete.get(prefix);
        if (earlier === undefined || sequence.ticket < earlier.ticket)
          incomplete.set(prefix, { prefix, sequence, version, cached, end: length, length, ticket: sequence.ticket });
        continue;
      }
      loads.push({ sequence, prefix, count: length });
      sequence.cached = length;
      sequence.trace = extendTrace(sequence.trace, "prefix", length);
      if (sequence.fills !== undefined)
        sequence.fills = [...sequence.fills, ...prefixFills(prefix, this.#options.prefillTokens)];
    }
    return [...incomplete.values()];
  }

  /** Plans one token for every sequence of one version, new or fed again. */
  #planDecode(candidates: readonly Sequence[], loads: readonly PrefixLoad[]): StepPlan {
    const versions = new Set(candidates.map((sequence) => this.versionOf(sequence)));
    const next = nextInTurn(versions, this.#lastDecoded);
    this.#lastDecoded = next;
    const sequences = candidates.filter((sequence) => this.versionOf(sequence) === next);
    const decoding = new Set(candidates);
    const swaps = this.#rows.gather(sequences, (other) => decoding.has(other));
    let from = Number.POSITIVE_INFINITY;
    let to = 0;
    const chunks = sequences.map((sequence): Chunk => {
      const { cached, length, row } = sequence;
      from = Math.min(from, row);
      to = Math.max(to, row + 1);
      return { sequence, start: cached, count: 1, isLast: cached + 1 === length };
    });
    return { swaps, loads, step: { kind: "decode", version: next, chunks, from, to, isSplit: versions.size > 1 } };
  }
}
