/**
 * Key-value caches on a device that keeps its tensors: those of sequences and those of shared prefixes, all of one capacity. Invariants: a
 * change gives whole new caches, and the old ones are released after it; positions beyond a row's length are never read.
 */
import type { DecoderConfig } from "../model/graphs/Architecture.ts";
import { cacheInputNames, cacheOutputNames, otherName } from "../model/graphs/DeviceDecode.ts";
import {
  type DeviceTensor,
  discard,
  type Feeds,
  float32,
  type Int64Tensor,
  int64,
  type Outputs,
  type Session,
} from "../model/runtime/Session.ts";
import type { Transfer } from "../model/runtime/Transfer.ts";
import { toBucket } from "./KeyValueCache.ts";
import type { Sequence, StepPlan } from "./StepPlan.ts";

/** Capacity of new caches, in positions. */
export const FIRST_CAPACITY = toBucket(1);

/** Rows are reserved in multiples of this, so that few shapes occur. */
const ROW_BUCKET = 8;

/** Caches of one set of rows, in the order of `cacheInputNames`. */
export interface DeviceCaches {
  readonly rows: number;
  readonly tensors: readonly DeviceTensor[];
}

export const int64Vector = (values: readonly number[]): Int64Tensor =>
  int64(BigInt64Array.from(values, BigInt), [values.length]);
export const range = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i);

/** Returns caches of one row and `FIRST_CAPACITY` positions on the device of `transfer`. */
export const emptyCaches = async (config: DecoderConfig, transfer: Transfer): Promise<DeviceCaches> => {
  const dims = [1, config.kvHeads, FIRST_CAPACITY, config.headDim];
  const zeros = float32(new Float32Array(config.kvHeads * FIRST_CAPACITY * config.headDim), dims);
  const names = cacheInputNames(config);
  const tensors = await transfer.upload(Object.fromEntries(names.map((name) => [name, zeros])));
  return { rows: 1, tensors: names.map((name) => tensors[name]!) };
};

export class ResidentCaches {
  readonly #config: DecoderConfig;
  readonly #arrange: Session;
  readonly #rowLimit: number;
  #capacity = FIRST_CAPACITY;
  #live: DeviceCaches;
  #prefixes: DeviceCaches;

  /** Takes ownership of two caches of `emptyCaches`. `arrange` is a session of `arrangeModel`. */
  constructor(
    config: DecoderConfig,
    arrange: Session,
    [live, prefixes]: readonly [DeviceCaches, DeviceCaches],
    slots: number,
  ) {
    this.#config = config;
    this.#arrange = arrange;
    this.#rowLimit = toBucket(slots, ROW_BUCKET);
    this.#live = live;
    this.#prefixes = prefixes;
  }

  /** Positions of every row. */
  get capacity(): number {
    return this.#capacity;
  }

  /** The sequences' caches. */
  get live(): DeviceCaches {
    return this.#live;
  }

  /** The shared prefixes' caches. */
  get prefixes(): DeviceCaches {
    return this.#prefixes;
  }

  feeds({ tensors }: DeviceCaches): Feeds {
    return Object.fromEntries(cacheInputNames(this.#config).map((name, i) => [name, tensors[i]!]));
  }

  /** Grows the caches, moves rows and copies prefixes as a plan says. */
  async arrange({ loads, swaps, step }: StepPlan, occupied: readonly Sequence[]): Promise<void> {
    let rows = this.#live.rows;
    // A sequence that is loaded from a prefix may decode at once, so rows that are swapped may be new.
    for (const row of [...occupied.map(({ row }) => row), ...swaps.flatMap(({ a, b }) => [a, b])])
      if (row >= rows) rows = Math.min(this.#rowLimit, toBucket(Math.max(2 * rows, row + 1), ROW_BUCKET));
    const prefixes = step.kind === "prefix" ? step.chunks.map(({ prefix }) => prefix.row + 1) : [];
    const prefixRows = toBucket(Math.max(this.#prefixes.rows, ...prefixes), ROW_BUCKET);
    const capacity = this.#neededCapacity(step, loads, occupied);
    const hasGrown = capacity !== this.#capacity;
    const source = [...range(this.#live.rows), ...new Array<number>(rows - this.#live.rows).fill(0)];
    for (const { a, b } of swaps) [source[a], source[b]] = [source[b]!, source[a]!];
    for (const { prefix, sequence } of loads) source[sequence.row] = this.#live.rows + prefix.row;
    const hasMoved = rows !== this.#live.rows || swaps.length > 0 || loads.length > 0;
    const [live, shared] = [this.#live, this.#prefixes];
    const positions = range(capacity).map((position) => Math.min(position, this.#capacity - 1));
    if (hasGrown || hasMoved) this.#live = await this.#rearrange(live, shared, source, positions);
    if (hasGrown || prefixRows !== shared.rows) {
      const sharedSource = range(prefixRows).map((row) => Math.min(row, shared.rows - 1));
      this.#prefixes = await this.#rearrange(shared, live, sharedSource, positions);
      discard(shared.tensors);
    }
    if (hasGrown || hasMoved) discard(live.tensors);
    this.#capacity = capacity;
  }

  /** Takes the sequences' caches of a run, and releases those it read. */
  replaceLive(outputs: Outputs): void {
    this.#live = this.#replaced(outputs, this.#live);
  }

  /** Takes the prefixes' caches of a run, and releases those it read. */
  replacePrefixes(outputs: Outputs): void {
    this.#prefixes = this.#replaced(outputs, this.#prefixes);
  }

  close(): void {
    discard([...this.#live.tensors, ...this.#prefixes.tensors]);
  }

  #replaced(outputs: Outputs, { rows, tensors }: DeviceCaches): DeviceCaches {
    discard(tensors);
    return { rows, tensors: this.#takeFrom(outputs) };
  }

  #takeFrom(outputs: Outputs): readonly DeviceTensor[] {
    return cacheOutputNames(this.#config).map((name) => outputs.take(name));
  }

  /** Returns the capacity in positions that the step needs. */
  #neededCapacity(step: StepPlan["step"], loads: StepPlan["loads"], occupied: readonly Sequence[]): number {
    const loading = new Map(loads.map(({ count, sequence }) => [sequence, count]));
    let longest = 0;
    for (const sequence of occupied) longest = Math.max(longest, loading.get(sequence) ?? sequence.cached);
    let needed = longest + 1;
    if (step.kind === "prefill" || step.kind === "prefix")
      for (const { count, start } of step.chunks) needed = Math.max(needed, start + count);
    if (toBucket(needed) > this.#capacity) return toBucket(needed);
    // The capacity never shrinks, because prefixes may be longer than any row.
    return this.#capacity;
  }

  async #rearrange(
    caches: DeviceCaches,
    other: DeviceCaches,
    rows: readonly number[],
    positions: readonly number[],
  ): Promise<DeviceCaches> {
    const others = cacheInputNames(this.#config).map((name, i) => [otherName(name), other.tensors[i]!] as const);
    using outputs = await this.#arrange.run({
      ...this.feeds(caches),
      ...Object.fromEntries(others),
      rows: int64Vector(rows),
      positions: int64Vector(positions),
    });
    return { rows: rows.length, tensors: this.#takeFrom(outputs) };
  }
}
