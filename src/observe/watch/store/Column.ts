/** A growing list of numbers of eight bytes each. */
export class Column {
  #values = new Float64Array(64);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length === this.#values.length) this.#grow(this.#length + 1);
    this.#values[this.#length++] = value;
  }

  /** NaN behind the end. */
  at(index: number): number {
    return index < this.#length ? (this.#values[index] ?? Number.NaN) : Number.NaN;
  }

  set(index: number, value: number): void {
    if (index >= this.#values.length) this.#grow(index + 1);
    // The rows in between were not measured.
    if (index > this.#length) this.#values.fill(Number.NaN, this.#length, index);
    this.#values[index] = value;
    this.#length = Math.max(this.#length, index + 1);
  }

  cut(length: number): void {
    this.#length = Math.min(this.#length, length);
  }

  /** The number of values that are at most `value`; the column must be sorted. */
  countUpTo(value: number): number {
    let [low, high] = [0, this.#length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#values[middle] ?? 0) <= value) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The number of values that are less than `value`; the column must be sorted. */
  countBelow(value: number): number {
    let [low, high] = [0, this.#length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#values[middle] ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #grow(least: number): void {
    const next = new Float64Array(Math.max(least, 2 * this.#values.length));
    next.set(this.#values.subarray(0, this.#length));
    this.#values = next;
  }
}

/** At most `most` of the indexes from `from` to before `to`, evenly chosen, including the last. */
export const evenly = (from: number, to: number, most: number): readonly number[] => {
  const count = Math.max(0, Math.min(most, to - from));
  return Array.from({ length: count }, (_, i) => from + Math.ceil(((i + 1) * (to - from)) / count) - 1);
};
