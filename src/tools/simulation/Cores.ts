/**
 * Cores that all threads with work share equally: while there are more of them than cores, each goes on at `cores / threads` of its speed.
 * Beside that they may slow each other down, for they share memory and caches. Invariant: no piece of work is faster than alone, and
 * together they never do more than the cores can.
 */
import type { Agenda } from "./Agenda.ts";
import { Heap } from "./Heap.ts";

const kinds = ["generator", "lane", "main", "step"] as const;
export type ThreadKind = (typeof kinds)[number];

/** The share by which a thread takes longer for each other thread that computes beside it. */
export interface Slowdown {
  readonly generatorByGenerator: number;
  readonly generatorByLane: number;
  readonly laneByGenerator: number;
}

const noSlowdown: Slowdown = { generatorByGenerator: 0, generatorByLane: 0, laneByGenerator: 0 };

interface Piece {
  /** The progress of its kind at which it is done. */
  readonly until: number;
  readonly order: number;
  readonly done: () => void;
}

/** The threads of one kind, which all have the same speed. */
interface Kind {
  readonly pieces: Heap<Piece>;
  running: number;
  /** The share of the speed that such a thread has alone. */
  speed: number;
  /** Work that a piece which runs since the start would have done, in milliseconds at full speed. */
  progress: number;
}

/** Milliseconds that are nothing but rounding. */
const nothing = 1e-9;

const idle = (): Kind => ({
  pieces: new Heap<Piece>((a, b) => a.until - b.until || a.order - b.order),
  running: 0,
  speed: 1,
  progress: 0,
});

export class Cores {
  readonly #agenda: Agenda;
  readonly #count: number;
  readonly #slowdown: Slowdown;
  readonly #kinds = { generator: idle(), lane: idle(), main: idle(), step: idle() } satisfies Record<ThreadKind, Kind>;
  #order = 0;
  #last = 0;
  #alarm = 0;

  constructor(agenda: Agenda, count: number, slowdown = noSlowdown) {
    this.#agenda = agenda;
    this.#count = count;
    this.#slowdown = slowdown;
  }

  /** Calls `done` once a thread has computed for `work` milliseconds, later where it has to share. */
  run(kind: ThreadKind, work: number, done: () => void): void {
    this.#advance();
    const threads = this.#kinds[kind];
    threads.running++;
    threads.pieces.push({ until: threads.progress + work, order: this.#order++, done });
    this.#arm();
  }

  #advance(): void {
    const passed = this.#agenda.now - this.#last;
    this.#last = this.#agenda.now;
    for (const kind of kinds) this.#kinds[kind].progress += passed * this.#kinds[kind].speed;
  }

  #settle(): void {
    const { generator, lane, main, step } = this.#kinds;
    const { generatorByGenerator, generatorByLane, laneByGenerator } = this.#slowdown;
    const running = generator.running + lane.running + main.running + step.running;
    const share = running > this.#count ? this.#count / running : 1;
    const others = (generator.running - 1) * generatorByGenerator + lane.running * generatorByLane;
    generator.speed = share / (1 + share * Math.max(0, others));
    lane.speed = share / (1 + share * generator.running * laneByGenerator);
    main.speed = share;
    step.speed = share;
  }

  /** Sets the end of the piece that is done first, at the speeds of all that run. */
  #arm(): void {
    this.#settle();
    const alarm = ++this.#alarm;
    let first: Kind | undefined;
    let soonest = Number.POSITIVE_INFINITY;
    for (const kind of kinds) {
      const threads = this.#kinds[kind];
      const next = threads.pieces.peek();
      if (next === undefined) continue;
      const left = Math.max(0, next.until - threads.progress) / threads.speed;
      if (left >= soonest) continue;
      soonest = left;
      first = threads;
    }
    if (first === undefined) return;
    const due = first;
    this.#agenda.after(soonest, () => alarm === this.#alarm && this.#end(due));
  }

  #end(due: Kind): void {
    this.#advance();
    // Rounding must not leave the last bit of a piece to a further alarm.
    due.progress = Math.max(due.progress, due.pieces.peek()?.until ?? 0);
    const ended: Piece[] = [];
    for (const kind of kinds) {
      const threads = this.#kinds[kind];
      for (let next = threads.pieces.peek(); next !== undefined; next = threads.pieces.peek()) {
        if (next.until - threads.progress > nothing) break;
        threads.pieces.pop();
        threads.running--;
        ended.push(next);
      }
    }
    this.#arm();
    for (const { done } of ended.sort((a, b) => a.order - b.order)) done();
  }
}
