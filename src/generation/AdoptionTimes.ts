/** What taking new weights in costs between two steps: making tensors of the buffer, then changing over. Milliseconds. */

export class AdoptionTimes {
  #count = 0;
  #last = 0;
  #max = 0;
  #offerMs = 0;

  get count(): number {
    return this.#count;
  }

  get ms(): { readonly last: number; readonly max: number } {
    return { last: this.#last, max: this.#max };
  }

  /** The weights arrived and were made ready in `ms`. */
  recordOffer(ms: number): void {
    this.#offerMs = ms;
  }

  /** The change to them took `ms`. */
  recordAdoption(ms: number): void {
    this.#count++;
    this.#last = this.#offerMs + ms;
    this.#max = Math.max(this.#max, this.#last);
  }
}
