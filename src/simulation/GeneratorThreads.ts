/**
 * Generator threads in virtual time: a sequence stays on the thread with the fewest sequences when it was opened; a thread feeds prompts and
 * decodes in steps, one token for each of its rows. Invariant: a thread never has more requests at work than rows.
 */
import type { Generators } from "./RunShape.ts";
import type { World } from "./World.ts";

interface Reply {
  readonly prompt: number;
  /** Tokens still to sample. */
  left: number;
  readonly done: () => void;
}

class GeneratorThread {
  /** Open sequences. */
  load = 0;
  readonly #world: World;
  readonly #shape: Generators;
  readonly #waiting: Reply[] = [];
  #fresh: Reply[] = [];
  #decoding: Reply[] = [];
  #patience = 0;
  #busy = false;
  #called = false;

  constructor(world: World, shape: Generators) {
    this.#world = world;
    this.#shape = shape;
  }

  ask(reply: Reply): void {
    this.#waiting.push(reply);
    // Requests of one instant share a step.
    if (this.#busy || this.#called) return;
    this.#called = true;
    this.#world.agenda.after(0, () => {
      this.#called = false;
      if (!this.#busy) this.#step();
    });
  }

  #step(): void {
    this.#admit();
    if (this.#feedsNow()) this.#feed();
    else if (this.#decoding.length > 0) this.#decode();
    else this.#busy = false;
  }

  #admit(): void {
    const { prefill, slots } = this.#shape;
    while (this.#waiting.length > 0 && this.#fresh.length + this.#decoding.length < slots) {
      (prefill === undefined ? this.#decoding : this.#fresh).push(this.#waiting.shift()!);
    }
  }

  #feedsNow(): boolean {
    const { prefillPatience = 0, prefillRows = 1 } = this.#shape;
    const rows = this.#fresh.length;
    if (rows === 0) return false;
    return this.#decoding.length === 0 || rows >= prefillRows || this.#patience >= prefillPatience;
  }

  #feed(): void {
    this.#busy = true;
    this.#patience = 0;
    const fed = this.#fresh;
    this.#fresh = [];
    const tokens = fed.reduce((sum, { prompt }) => sum + prompt, 0);
    this.#world.work(this.#shape.prefill?.(tokens, fed.length) ?? 0, () => {
      this.#decoding.push(...fed);
      this.#sampled(fed);
      this.#step();
    });
  }

  #decode(): void {
    this.#busy = true;
    if (this.#fresh.length > 0) this.#patience++;
    const rows = [...this.#decoding];
    this.#world.work(this.#shape.decode(rows.length), () => {
      this.#sampled(rows);
      this.#step();
    });
  }

  #sampled(rows: readonly Reply[]): void {
    for (const row of rows) row.left--;
    this.#decoding = this.#decoding.filter(({ left }) => left > 0);
    for (const { done, left } of rows) if (left <= 0) done();
  }
}

export class GeneratorThreads {
  readonly #shape: Generators;
  readonly #threads: readonly GeneratorThread[];

  constructor(world: World, shape: Generators) {
    this.#shape = shape;
    this.#threads = Array.from({ length: shape.threads }, () => new GeneratorThread(world, shape));
  }

  /** The thread of a sequence that is opened. */
  open(): GeneratorThread {
    const thread = this.#threads.reduce((least, other) => (other.load < least.load ? other : least));
    thread.load++;
    return thread;
  }

  close(thread: GeneratorThread): void {
    thread.load--;
  }

  reply(thread: GeneratorThread, [group, member, turn]: readonly [number, number, number], done: () => void): void {
    const { prompt, tokens } = this.#shape;
    thread.ask({ prompt: prompt?.(group, member, turn) ?? 0, left: Math.max(1, tokens(group, member, turn)), done });
  }
}

export type { GeneratorThread };
