/**
 * Milliseconds that new weights cost between two steps: making tensors of the buffer (the offer), then switching to them (the adoption).
 */

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

  /** Records that an offer's weights were made ready in `ms`. */
  recordOffer(ms: number): void {
    this.#offerMs = ms;
  }

  /** Records that the switch to the last offer took `ms`. */
  recordAdoption(ms: number): void {
    this.#count++;
    this.#last = this.#offerMs + ms;
    this.#max = Math.max(this.#max, this.#last);
  }
}
