/**
 * Threads that share the cores of a machine. While more compute than there are cores, all get an equal share; beside that they slow each
 * other down, for they share memory and caches. Invariant: a piece of work ends when it got its whole time.
 */
import type { Agenda } from "../Agenda.ts";
import type { Slowdown } from "./Machine.ts";

export type ThreadKind = "generator" | "lane" | "main" | "step";

interface Work {
  readonly kind: ThreadKind;
  readonly done: () => void;
  /** Time it still needs where nothing else computes. */
  left: number;
  rate: number;
}

/** Time that is nothing but rounding. */
const nothing = 1e-9;

export class Cores {
  readonly #agenda: Agenda;
  readonly #cores: number;
  readonly #slowdown: Slowdown;
  #working: Work[] = [];
  #since = 0;
  /** Which ending is the newest; others were set before the rates changed. */
  #newest = 0;

  constructor(agenda: Agenda, cores: number, slowdown: Slowdown) {
    this.#agenda = agenda;
    this.#cores = cores;
    this.#slowdown = slowdown;
  }

  /** One thread computes for `time`, longer where it has to share. */
  compute(kind: ThreadKind, time: number, done: () => void): void {
    this.#advance();
    this.#working.push({ kind, done, left: time, rate: 1 });
    this.#schedule();
  }

  #advance(): void {
    const passed = this.#agenda.now - this.#since;
    this.#since = this.#agenda.now;
    if (passed > 0) for (const work of this.#working) work.left -= passed * work.rate;
  }

  #schedule(): void {
    const working = this.#working;
    const share = Math.min(1, this.#cores / working.length);
    let generators = 0;
    let lanes = 0;
    for (const { kind } of working) {
      if (kind === "generator") generators++;
      else if (kind === "lane") lanes++;
    }
    const { generatorByGenerator, generatorByLane, laneByGenerator } = this.#slowdown;
    const generator = share / (1 + share * ((generators - 1) * generatorByGenerator + lanes * generatorByLane));
    const lane = share / (1 + share * generators * laneByGenerator);
    let next = Number.POSITIVE_INFINITY;
    for (const work of working) {
      work.rate = work.kind === "generator" ? generator : work.kind === "lane" ? lane : share;
      next = Math.min(next, Math.max(0, work.left) / work.rate);
    }
    const mine = ++this.#newest;
    if (working.length > 0) this.#agenda.after(next, () => mine === this.#newest && this.#end());
  }

  #end(): void {
    this.#advance();
    const ended = this.#working.filter(({ left }) => left <= nothing);
    this.#working = this.#working.filter(({ left }) => left > nothing);
    this.#schedule();
    for (const { done } of ended) done();
  }
}
