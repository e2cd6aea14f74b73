/** Lockstep's turns: calls wait until every live episode of the window has asked. */

export class Turns {
  #live = 0;
  #waiting: (() => void)[] = [];

  join(episodes: number): void {
    this.#live += episodes;
  }

  leave(): void {
    this.#live--;
    this.#open();
  }

  arrive(go: () => void): void {
    this.#waiting.push(go);
    this.#open();
  }

  #open(): void {
    if (this.#waiting.length === 0 || this.#waiting.length < this.#live) return;
    const turn = this.#waiting;
    this.#waiting = [];
    for (const go of turn) go();
  }
}
