/**
 * Generator threads in virtual time: a sequence stays on the thread with the fewest sequences when it was opened; a thread feeds prompts and
 * decodes in steps, one token for each of its rows. Rows of different versions take turns, since a step computes with one set of weights.
 * Invariant: a thread never has more requests at work than rows.
 */
import { PrefillTiming } from "../../generation/PrefillTiming.ts";
import type { World } from "./World.ts";

/** Threads that make replies token by token, all rows of a thread at once. Times are milliseconds. */
export interface ThreadShape {
  /** Rows of a thread: sequences with a cache at once. */
  readonly slots: number;
  /** Time of a decode step of so many rows. */
  readonly decode: (rows: number) => number;
  /** Time of feeding so many tokens of so many rows; 0 by default. */
  readonly prefill?: (tokens: number, rows: number) => number;
  /** As in PrefillTiming; default 1. */
  readonly prefillRows?: number;
  /** As in PrefillTiming; default 0. */
  readonly prefillPatience?: number;
  /** Tokens of a prefill, unless its first row alone has more; no bound by default. */
  readonly prefillTokens?: number;
}

/** The tokens of a reply in order, as runs of one version. */
export type Sampled = readonly (readonly [version: number, tokens: number])[];

/** A reply that is made; its caller may look at it and end it early. */
export interface PendingReply {
  readonly sampled: Sampled;
  /** Frees its row and keeps its tokens as they are; `done` is not called. */
  readonly cancel: () => void;
}

export interface ReplyOptions {
  /** Tokens to compute before the first is sampled. */
  readonly prompt: number;
  /** Tokens to sample, at least one. */
  readonly tokens: number;
  /** The version that samples all of it; the newest one at each token by default. */
  readonly version?: number | undefined;
}

interface Reply {
  readonly prompt: number;
  readonly pinned: number | undefined;
  /** Tokens still to sample. */
  left: number;
  isCancelled: boolean;
  readonly sampled: [version: number, tokens: number][];
  readonly done: (sampled: Sampled) => void;
}

const withoutCancelled = (rows: readonly Reply[]): Reply[] => rows.filter(({ isCancelled }) => !isCancelled);

export class GeneratorThread {
  /** Open sequences. */
  load = 0;
  /** Milliseconds in steps. */
  busy = 0;
  decodeSteps = 0;
  /** Tokens sampled. */
  generated = 0;
  readonly #world: World;
  readonly #shape: ThreadShape;
  readonly #version: () => number;
  readonly #timing: PrefillTiming;
  #waiting: Reply[] = [];
  #fresh: Reply[] = [];
  #decoding: Reply[] = [];
  #busy = false;
  #called = false;

  constructor(world: World, shape: ThreadShape, version: () => number) {
    this.#world = world;
    this.#shape = shape;
    this.#timing = new PrefillTiming({
      prefillRows: shape.prefillRows ?? 1,
      prefillPatience: shape.prefillPatience ?? 0,
    });
    this.#version = version;
  }

  /** Makes a reply, and calls `done` with its tokens. */
  reply({ prompt, tokens, version }: ReplyOptions, done: (sampled: Sampled) => void): PendingReply {
    const reply: Reply = {
      prompt,
      pinned: version,
      left: Math.max(1, tokens),
      isCancelled: false,
      sampled: [],
      done,
    };
    this.#waiting.push(reply);
    this.#wake();
    return { sampled: reply.sampled, cancel: () => this.#cancel(reply) };
  }

  #cancel(reply: Reply): void {
    reply.isCancelled = true;
    this.#waiting = withoutCancelled(this.#waiting);
    this.#fresh = withoutCancelled(this.#fresh);
    this.#decoding = withoutCancelled(this.#decoding);
  }

  #wake(): void {
    // Requests of one instant share a step.
    if (this.#busy || this.#called) return;
    this.#called = true;
    this.#world.agenda.after(0, () => {
      this.#called = false;
      if (!this.#busy) this.#step();
    });
  }

  #versionOf({ pinned }: Reply): number {
    return pinned ?? this.#version();
  }

  /** Takes the rows that have the version of the first one. */
  #ofOneVersion(rows: readonly Reply[]): { readonly same: Reply[]; readonly others: Reply[] } {
    const version = rows[0] === undefined ? 0 : this.#versionOf(rows[0]);
    const same = rows.filter((row) => this.#versionOf(row) === version);
    const others = same.length === rows.length ? [] : rows.filter((row) => this.#versionOf(row) !== version);
    return { same, others };
  }

  #step(): void {
    this.#admit();
    const counts = { prompts: this.#fresh.length, decoding: this.#decoding.length };
    if (this.#timing.next(counts) === "prefill") this.#feed();
    else if (this.#decoding.length > 0) this.#decode();
    else this.#busy = false;
  }

  #admit(): void {
    const { prefill, slots } = this.#shape;
    while (this.#waiting.length > 0 && this.#fresh.length + this.#decoding.length < slots) {
      (prefill === undefined ? this.#decoding : this.#fresh).push(this.#waiting.shift()!);
    }
  }

  #feed(): void {
    const most = this.#shape.prefillTokens ?? Number.POSITIVE_INFINITY;
    const { others, same } = this.#ofOneVersion(this.#fresh);
    let tokens = 0;
    let rows = 0;
    for (const { prompt } of same) {
      if (rows > 0 && tokens + prompt > most) break;
      tokens += prompt;
      rows++;
    }
    const fed = same.splice(0, rows);
    this.#fresh = [...same, ...others];
    this.#compute(this.#shape.prefill?.(tokens, rows) ?? 0, () => {
      this.#decoding.push(...withoutCancelled(fed));
      this.#sample(fed);
    });
  }

  #decode(): void {
    this.decodeSteps++;
    const { others, same: rows } = this.#ofOneVersion(this.#decoding);
    // The rows of the other versions come first in the next step.
    this.#decoding = [...others, ...rows];
    this.#compute(this.#shape.decode(rows.length), () => this.#sample(rows));
  }

  #compute(time: number, done: () => void): void {
    this.#busy = true;
    const began = this.#world.agenda.now;
    this.#world.work("generator", time, () => {
      this.busy += this.#world.agenda.now - began;
      done();
      this.#step();
    });
  }

  #sample(sampling: readonly Reply[]): void {
    const rows = withoutCancelled(sampling);
    this.generated += rows.length;
    for (const row of rows) {
      const version = this.#versionOf(row);
      row.left--;
      const last = row.sampled.at(-1);
      if (last?.[0] === version) last[1]++;
      else row.sampled.push([version, 1]);
    }
    const ended = rows.filter(({ left }) => left <= 0);
    if (ended.length === 0) return;
    this.#decoding = this.#decoding.filter(({ left }) => left > 0);
    for (const { done, sampled } of ended) done(sampled);
  }
}

export interface GeneratorThreadsOptions {
  readonly threads: number;
  readonly shape: ThreadShape;
  /** The version of the weights that sample the next token; 0 by default. */
  readonly version?: () => number;
}

export class GeneratorThreads {
  readonly all: readonly GeneratorThread[];

  constructor(world: World, { shape, threads, version = () => 0 }: GeneratorThreadsOptions) {
    this.all = Array.from({ length: threads }, () => new GeneratorThread(world, shape, version));
  }

  /** The thread of a sequence that is opened. */
  open(): GeneratorThread {
    const thread = this.all.reduce((least, other) => (other.load < least.load ? other : least));
    thread.load++;
    return thread;
  }

  close(thread: GeneratorThread): void {
    thread.load--;
  }
}
