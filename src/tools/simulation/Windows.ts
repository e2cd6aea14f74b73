/** Forms the windows of a run from its groups: those admitted for one, or the next that finish. */

export class Windows {
  readonly #groups: number;
  readonly #order: "admission" | "completion";
  readonly #held: number[] = [];
  #formed = 0;

  constructor(groups: number, order: "admission" | "completion") {
    this.#groups = groups;
    this.#order = order;
  }

  /** The windows that one more finished group completes. */
  take(group: number): readonly (readonly number[])[] {
    this.#held.push(group);
    const completed: (readonly number[])[] = [];
    for (;;) {
      const members =
        this.#order === "completion"
          ? this.#held.slice(0, this.#groups)
          : this.#held.filter((other) => Math.floor(other / this.#groups) === this.#formed);
      if (members.length < this.#groups) return completed;
      for (const member of members) this.#held.splice(this.#held.indexOf(member), 1);
      completed.push(members);
      this.#formed++;
    }
  }
}
