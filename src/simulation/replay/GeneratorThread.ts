/**
 * A generator thread in virtual time: it prefills prompts and decodes one token for every open reply at once, by the scheduler's rules. Every
 * token carries the version that sampled it.
 */
import type { Agenda } from "../Agenda.ts";
import type { Cores } from "./Cores.ts";
import { decodeOf, type Machine, prefillOf } from "./Machine.ts";

/** The tokens of a reply in order, as runs of one version. */
export type Sampled = readonly (readonly [version: number, tokens: number])[];

interface Reply {
  /** Prompt tokens to compute. */
  readonly feed: number;
  left: number;
  readonly sampled: [version: number, tokens: number][];
  readonly done: (sampled: Sampled) => void;
}

/** While others decode, a prefill waits for so many replies that need one, or so many decode steps. */
const company = 4;
const patience = 4;

export interface GeneratorOptions {
  readonly slots: number;
  readonly prefillTokens: number;
  /** The version that the next token is sampled by. */
  readonly version: () => number;
}

export class GeneratorThread {
  readonly #machine: Machine;
  readonly #cores: Cores;
  readonly #options: GeneratorOptions;
  readonly #agenda: Agenda;
  #waiting: Reply[] = [];
  #toPrefill: Reply[] = [];
  #decoding: Reply[] = [];
  #computing = false;
  #waited = 0;
  #busy = 0;
  #steps = 0;
  #generated = 0;

  constructor(machine: Machine, cores: Cores, agenda: Agenda, options: GeneratorOptions) {
    this.#machine = machine;
    this.#cores = cores;
    this.#agenda = agenda;
    this.#options = options;
  }

  /** Time in steps. */
  get busy(): number {
    return this.#busy;
  }

  /** Tokens sampled. */
  get generated(): number {
    return this.#generated;
  }

  get decodeSteps(): number {
    return this.#steps;
  }

  generate(prompt: number, tokens: number, done: (sampled: Sampled) => void): void {
    const feed = prompt * this.#machine.fedShare;
    this.#waiting.push({ feed, left: Math.max(1, tokens), sampled: [], done });
    // Requests of the same moment are planned together.
    this.#agenda.after(0, () => this.#next());
  }

  #next(): void {
    if (this.#computing) return;
    const room = this.#options.slots - this.#toPrefill.length - this.#decoding.length;
    if (room > 0 && this.#waiting.length > 0) this.#toPrefill.push(...this.#waiting.splice(0, room));
    if (this.#toPrefill.length > 0 && this.#prefillsNow()) this.#prefill();
    else if (this.#decoding.length > 0) this.#decode();
  }

  #prefillsNow(): boolean {
    const now = this.#decoding.length === 0 || this.#toPrefill.length >= company || this.#waited >= patience;
    this.#waited = now ? 0 : this.#waited + 1;
    return now;
  }

  #prefill(): void {
    let tokens = 0;
    let count = 0;
    for (const { feed } of this.#toPrefill) {
      if (count > 0 && tokens + feed > this.#options.prefillTokens) break;
      tokens += feed;
      count++;
    }
    const fed = this.#toPrefill.splice(0, count);
    this.#compute(prefillOf(this.#machine, tokens), () => {
      this.#decoding.push(...fed);
      this.#sample(fed);
    });
  }

  #decode(): void {
    const rows = this.#decoding.slice();
    this.#steps++;
    this.#compute(decodeOf(this.#machine, rows.length), () => this.#sample(rows));
  }

  #compute(time: number, done: () => void): void {
    this.#computing = true;
    const began = this.#agenda.now;
    this.#cores.compute("generator", time, () => {
      this.#computing = false;
      this.#busy += this.#agenda.now - began;
      done();
      this.#next();
    });
  }

  #sample(replies: readonly Reply[]): void {
    const version = this.#options.version();
    this.#generated += replies.length;
    const ended: Reply[] = [];
    for (const reply of replies) {
      reply.left--;
      const last = reply.sampled.at(-1);
      if (last?.[0] === version) last[1]++;
      else reply.sampled.push([version, 1]);
      if (reply.left === 0) ended.push(reply);
    }
    if (ended.length === 0) return;
    this.#decoding = this.#decoding.filter(({ left }) => left > 0);
    for (const { done, sampled } of ended) done(sampled);
  }
}
