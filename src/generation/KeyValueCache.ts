/**
 * Keys and values of many sequences: per layer two arrays [rows, kvHeads, capacity, headDim]. A sequence has one row, so any run of rows is
 * a batch without a copy. Invariants: everything stored is finite (fresh memory is 0); a row's spans cover exactly its length, each with
 * the weights version that made it.
 */
import type { Version } from "../domain/Episode.ts";

export interface CacheShape {
  readonly layers: number;
  readonly kvHeads: number;
  readonly headDim: number;
}

/** Keys and values of each layer, [rows, kvHeads, positions, headDim]. */
export interface KeysAndValues {
  readonly keys: readonly Float32Array[];
  readonly values: readonly Float32Array[];
}

/** Rows of a cache as a model's input. */
export interface CacheView extends KeysAndValues {
  readonly rows: number;
  readonly capacity: number;
}

/** Positions from the previous span's end up to `end`, made by `version`. */
export interface Span {
  readonly end: number;
  readonly version: Version;
}

/** Capacities are multiples of this, so that few shapes occur and sums over positions keep their order of additions. */
export const POSITION_BUCKET = 64;
export const toBucket = (positions: number, multiple: number = POSITION_BUCKET): number =>
  Math.max(1, Math.ceil(positions / multiple)) * multiple;

export class KeyValueCache {
  readonly shape: CacheShape;
  #rows = 0;
  #capacity = 0;
  #keys: Float32Array[];
  #values: Float32Array[];
  #lengths = new Int32Array(0);
  #spans: Span[][] = [];

  constructor(shape: CacheShape) {
    this.shape = shape;
    this.#keys = Array.from({ length: shape.layers }, () => new Float32Array(0));
    this.#values = Array.from({ length: shape.layers }, () => new Float32Array(0));
  }

  get rows(): number {
    return this.#rows;
  }

  /** Positions that a row can store. */
  get capacity(): number {
    return this.#capacity;
  }

  length(row: number): number {
    return this.#lengths[row] ?? 0;
  }

  spans(row: number): readonly Span[] {
    return this.#spans[row] ?? [];
  }

  /** Allocated bytes. */
  get bytes(): number {
    return [...this.#keys, ...this.#values].reduce((sum, array) => sum + array.byteLength, 0);
  }

  /** Grows to at least `rows` rows of `positions`, rounded up to a bucket, and keeps what is stored. Never shrinks. */
  reserve(rows: number, positions: number): void {
    const newRows = Math.max(rows, this.#rows);
    const newCapacity = Math.max(toBucket(positions), this.#capacity);
    if (newRows !== this.#rows || newCapacity !== this.#capacity) this.#resize(newRows, newCapacity);
  }

  /** Shortens every row to `positions`, rounded up to a bucket, or to the longest row. Shorter rows make cheaper steps. */
  shrink(positions: number): void {
    const longest = this.#lengths.reduce((most, length) => Math.max(most, length), 0);
    const capacity = toBucket(Math.max(positions, longest));
    if (capacity < this.#capacity) this.#resize(this.#rows, capacity);
  }

  /** Resizes to exactly `rows` rows of toBucket(positions) and drops their contents, for scratch use. */
  reset(rows: number, positions: number): void {
    this.#lengths.fill(0);
    this.#spans.forEach((spans) => {
      spans.length = 0;
    });
    const capacity = toBucket(positions);
    if (rows === this.#rows && capacity === this.#capacity) return;
    this.#rows = 0;
    this.#resize(rows, capacity);
  }

  /** Returns rows [from, to) as model input; valid until the next change of shape. */
  view(from: number, to: number): CacheView {
    const stride = this.#rowStride;
    const slice = (array: Float32Array): Float32Array => array.subarray(from * stride, to * stride);
    return { rows: to - from, capacity: this.#capacity, keys: this.#keys.map(slice), values: this.#values.map(slice) };
  }

  /**
   * Appends the first `count` positions of row `sourceRow` of `source`, [.., kvHeads, sourceTime, headDim], to a row. Throws a RangeError
   * if the row has no room.
   */
  append(
    row: number,
    source: KeysAndValues,
    sourceRow: number,
    sourceTime: number,
    count: number,
    version: Version,
  ): void {
    const position = this.#lengths[row]!;
    if (position + count > this.#capacity)
      throw new RangeError(`row ${row} holds ${position} of ${this.#capacity} positions`);
    for (let layer = 0; layer < this.shape.layers; layer++) {
      this.#copyIn(this.#keys[layer]!, row, position, source.keys[layer]!, sourceRow, sourceTime, count);
      this.#copyIn(this.#values[layer]!, row, position, source.values[layer]!, sourceRow, sourceTime, count);
    }
    this.#lengths[row] = position + count;
    this.#mark(row, position + count, version);
  }

  /** Replaces a row by the first `count` positions of a row of `from`. */
  copy(row: number, from: KeyValueCache, fromRow: number, count: number): void {
    if (count > this.#capacity || count > from.length(fromRow)) throw new RangeError(`cannot copy ${count} positions`);
    this.#lengths[row] = 0;
    this.#spans[row]!.length = 0;
    for (let layer = 0; layer < this.shape.layers; layer++) {
      this.#copyIn(this.#keys[layer]!, row, 0, from.#keys[layer]!, fromRow, from.#capacity, count);
      this.#copyIn(this.#values[layer]!, row, 0, from.#values[layer]!, fromRow, from.#capacity, count);
    }
    this.#lengths[row] = count;
    for (const span of from.#spans[fromRow]!) {
      this.#mark(row, Math.min(span.end, count), span.version);
      if (span.end >= count) break;
    }
  }

  /** Forgets a row's positions from `length` on. */
  truncate(row: number, length: number): void {
    if (length >= this.#lengths[row]!) return;
    this.#lengths[row] = length;
    const spans = this.#spans[row]!;
    while (spans.length > 0 && (spans.at(-2)?.end ?? 0) >= length) spans.pop();
    const last = spans.pop();
    if (last !== undefined && length > 0) spans.push({ end: length, version: last.version });
  }

  /** Exchanges two rows. Only stored positions are moved. */
  swap(a: number, b: number): void {
    if (a === b) return;
    const { kvHeads, headDim, layers } = this.shape;
    const lengthA = this.#lengths[a]!;
    const lengthB = this.#lengths[b]!;
    const saved = new Float32Array(lengthA * headDim);
    for (let layer = 0; layer < layers; layer++) {
      for (const array of [this.#keys[layer]!, this.#values[layer]!]) {
        for (let head = 0; head < kvHeads; head++) {
          const startA = (a * kvHeads + head) * this.#capacity * headDim;
          const startB = (b * kvHeads + head) * this.#capacity * headDim;
          if (lengthA > 0) saved.set(array.subarray(startA, startA + saved.length));
          if (lengthB > 0) array.copyWithin(startA, startB, startB + lengthB * headDim);
          if (lengthA > 0) array.set(saved, startB);
        }
      }
    }
    this.#lengths[a] = lengthB;
    this.#lengths[b] = lengthA;
    const spans = this.#spans[a]!;
    this.#spans[a] = this.#spans[b]!;
    this.#spans[b] = spans;
  }

  get #rowStride(): number {
    return this.shape.kvHeads * this.#capacity * this.shape.headDim;
  }

  #mark(row: number, end: number, version: Version): void {
    const spans = this.#spans[row]!;
    if (spans.at(-1)?.version === version) spans.pop();
    spans.push({ end, version });
  }

  #copyIn(
    target: Float32Array,
    row: number,
    position: number,
    source: Float32Array,
    sourceRow: number,
    sourceTime: number,
    count: number,
  ): void {
    const { kvHeads, headDim } = this.shape;
    const size = count * headDim;
    for (let head = 0; head < kvHeads; head++) {
      const to = ((row * kvHeads + head) * this.#capacity + position) * headDim;
      const start = (sourceRow * kvHeads + head) * sourceTime * headDim;
      // A loop is faster than a view for one position of a head.
      if (size <= 256) for (let i = 0; i < size; i++) target[to + i] = source[start + i]!;
      else target.set(source.subarray(start, start + size), to);
    }
  }

  #resize(rows: number, capacity: number): void {
    const { kvHeads, headDim } = this.shape;
    const size = rows * kvHeads * capacity * headDim;
    const old = this.#capacity * headDim;
    const blocks = Math.min(rows, this.#rows) * kvHeads;
    const used = (block: number): number => this.#lengths[Math.floor(block / kvHeads)]! * headDim;
    const restride = (array: Float32Array): Float32Array => {
      const next = capacity * headDim;
      if (size > array.length) {
        // The array grows by half at least, so that growing by buckets does not allocate each time.
        const larger = new Float32Array(Math.max(size, Math.ceil(array.length * 1.5)));
        for (let block = 0; block < blocks; block++)
          if (used(block) > 0) larger.set(array.subarray(block * old, block * old + used(block)), block * next);
        return larger;
      }
      // Blocks move in place: backwards when rows grow, forwards when they shrink, so that no block is overwritten unread.
      if (next > old)
        for (let block = blocks - 1; block > 0; block--)
          array.copyWithin(block * next, block * old, block * old + used(block));
      else if (next < old)
        for (let block = 1; block < blocks; block++)
          array.copyWithin(block * next, block * old, block * old + used(block));
      return array;
    };
    this.#keys = this.#keys.map(restride);
    this.#values = this.#values.map(restride);
    if (rows > this.#lengths.length) {
      const lengths = new Int32Array(rows);
      lengths.set(this.#lengths);
      this.#lengths = lengths;
    }
    while (this.#spans.length < rows) this.#spans.push([]);
    this.#rows = rows;
    this.#capacity = capacity;
  }
}
