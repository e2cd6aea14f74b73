/**
 * Cores that all running work shares equally: while more pieces run than there are cores, each goes on at `cores / pieces` of its speed.
 * Invariant: no piece is faster than alone, and together they never do more than the cores can.
 */
import type { Agenda } from "./Agenda.ts";
import { Heap } from "./Heap.ts";

interface Piece {
  /** The progress at which it is done. */
  readonly until: number;
  readonly order: number;
  readonly done: () => void;
}

export class Cores {
  readonly #agenda: Agenda;
  readonly #count: number;
  readonly #pieces = new Heap<Piece>((a, b) => a.until - b.until || a.order - b.order);
  #running = 0;
  #order = 0;
  /** What a piece that runs since the start would have done. */
  #progress = 0;
  #last = 0;
  #alarm = 0;

  constructor(agenda: Agenda, count: number) {
    this.#agenda = agenda;
    this.#count = count;
  }

  /** Calls `done` once the core has given it `work` milliseconds. */
  run(work: number, done: () => void): void {
    this.#advance();
    this.#running++;
    this.#pieces.push({ until: this.#progress + work, order: this.#order++, done });
    this.#arm();
  }

  get #speed(): number {
    return this.#running > this.#count ? this.#count / this.#running : 1;
  }

  #advance(): void {
    this.#progress += (this.#agenda.now - this.#last) * this.#speed;
    this.#last = this.#agenda.now;
  }

  #arm(): void {
    const next = this.#pieces.peek();
    const alarm = ++this.#alarm;
    if (next === undefined) return;
    this.#agenda.after(Math.max(0, (next.until - this.#progress) / this.#speed), () => {
      if (alarm !== this.#alarm) return;
      this.#advance();
      this.#pieces.pop();
      // Rounding must not leave the last bit of a piece to a further alarm.
      this.#progress = Math.max(this.#progress, next.until);
      this.#running--;
      next.done();
      this.#arm();
    });
  }
}
