/** A binary heap: the smallest of the values pushed comes out first. */

export class Heap<A> {
  readonly #values: A[] = [];
  readonly #compare: (a: A, b: A) => number;

  constructor(compare: (a: A, b: A) => number) {
    this.#compare = compare;
  }

  peek(): A | undefined {
    return this.#values[0];
  }

  push(value: A): void {
    const values = this.#values;
    let at = values.push(value) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#compare(values[at]!, values[parent]!) >= 0) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  pop(): A | undefined {
    const values = this.#values;
    const [smallest] = values;
    const last = values.pop();
    if (last === undefined || values.length === 0) return smallest;
    values[0] = last;
    for (let at = 0; ; ) {
      const left = 2 * at + 1;
      if (left >= values.length) return smallest;
      const right = left + 1;
      const child = right < values.length && this.#compare(values[right]!, values[left]!) < 0 ? right : left;
      if (this.#compare(values[at]!, values[child]!) <= 0) return smallest;
      this.#swap(at, child);
      at = child;
    }
  }

  #swap(a: number, b: number): void {
    const values = this.#values;
    [values[a], values[b]] = [values[b]!, values[a]!];
  }
}
