/**
 * What a thread and the main thread share beside messages: a few cells by which the main thread sees where a batch stands while the thread
 * cannot answer. The thread writes all of them but the cut, which asks it to leave the rest of its batch.
 */
const at = 0;
const began = 1;
const cut = 2;
const tid = 3;
const stray = 4;
const count = 5;

const done = -1;
const { add, load, store } = Atomics;

/** Where the batch of a thread stands. */
export interface Standing {
  /** Index of the request that is being answered; null where none is. */
  readonly at: number | null;
  /** All of the batch is answered. */
  readonly done: boolean;
  /** Milliseconds since the thread noted this. */
  readonly spentMs: number;
}

/** Milliseconds since the time origin, which all threads of the process share. */
export const now = (): number => performance.timeOrigin + performance.now();

/** The cells of one thread; both sides make one over the same memory. */
export class Cells {
  readonly memory: Int32Array;
  /** `now()` at which the batch was sent: times are kept relative to it, so that they fit a cell. */
  #epoch = 0;

  constructor(memory: Int32Array) {
    this.memory = memory;
  }

  static make(): Cells {
    return new Cells(new Int32Array(new SharedArrayBuffer(count * Int32Array.BYTES_PER_ELEMENT)));
  }

  #note(value: number): void {
    store(this.memory, began, Math.floor(now() - this.#epoch));
    store(this.memory, at, value);
  }

  // ---- the thread ----

  received(epoch: number): void {
    this.#epoch = epoch;
  }
  begin(index: number): void {
    this.#note(index + 1);
  }
  end(): void {
    this.#note(done);
  }
  isCut(): boolean {
    return load(this.memory, cut) === 1;
  }
  /** The operating system's id of the thread, by which its priority is set. */
  named(id: number): void {
    store(this.memory, tid, id);
  }
  /** An error outside of any step. */
  strayed(): void {
    add(this.memory, stray, 1);
  }

  // ---- the main thread ----

  /** Before a batch is sent; the epoch goes along with it. */
  clear(): number {
    store(this.memory, at, 0);
    store(this.memory, cut, 0);
    this.#epoch = now();
    return this.#epoch;
  }
  /** Asks the thread to answer no more than the request it is at. */
  cut(): void {
    store(this.memory, cut, 1);
  }
  standing(): Standing {
    const value = load(this.memory, at);
    const spentMs = value === 0 ? 0 : now() - this.#epoch - load(this.memory, began);
    return { at: value > 0 ? value - 1 : null, done: value === done, spentMs };
  }
  /** Null where the system has no such ids. */
  id(): number | null {
    return load(this.memory, tid) || null;
  }
  strays(): number {
    return load(this.memory, stray);
  }
}
