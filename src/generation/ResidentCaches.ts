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
  int64Vector,
  type Outputs,
  type Session,
} from "../model/runtime/Session.ts";
import type { Transfer } from "../model/runtime/Transfer.ts";
import { toBucket } from "./KeyValueCache.ts";
import { neededRows } from "./RowQueue.ts";
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
    const growth = { rows: this.#live.rows, bucket: ROW_BUCKET, limit: this.#rowLimit };
    const rows = neededRows(growth, swaps, occupied);
    const prefixRows = this.#neededPrefixRows(step);
    const capacity = this.#neededCapacity(step, loads, occupied);
    const hasGrown = capacity !== this.#capacity;
    const hasMoved = rows !== this.#live.rows || swaps.length > 0 || loads.length > 0;
    if (!hasGrown && !hasMoved && prefixRows === this.#prefixes.rows) return;
    const source = Array.from({ length: rows }, (_, row) => (row < this.#live.rows ? row : 0));
    for (const { a, b } of swaps) [source[a], source[b]] = [source[b]!, source[a]!];
    for (const { prefix, sequence } of loads) source[sequence.row] = this.#live.rows + prefix.row;
    const [live, shared] = [this.#live, this.#prefixes];
    const positions = Array.from({ length: capacity }, (_, position) => Math.min(position, this.#capacity - 1));
    if (hasGrown || hasMoved) this.#live = await this.#rearrange(live, shared, source, positions);
    if (hasGrown || prefixRows !== shared.rows) {
      const sharedSource = Array.from({ length: prefixRows }, (_, row) => Math.min(row, shared.rows - 1));
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

  /** Returns the rows of prefixes that the step needs. */
  #neededPrefixRows(step: StepPlan["step"]): number {
    let needed = this.#prefixes.rows;
    if (step.kind === "prefix") for (const { prefix } of step.chunks) needed = Math.max(needed, prefix.row + 1);
    return toBucket(needed, ROW_BUCKET);
  }

  /** Returns the capacity in positions that the step needs. */
  #neededCapacity(step: StepPlan["step"], loads: StepPlan["loads"], occupied: readonly Sequence[]): number {
    let longest = 0;
    for (const { cached } of occupied) longest = Math.max(longest, cached);
    for (const { count } of loads) longest = Math.max(longest, count);
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
