/**
 * A model with the caches of one generator thread. It moves and copies rows as a plan says, builds and runs the batch of a step, and stores
 * new keys and values. Invariants: a decode step has the model's least number of rows or more; only `keep` stores a result, because its
 * sequence may be released during the step.
 */
import type { Version } from "../domain/Episode.ts";
import { KeyValueCache, toBucket } from "./KeyValueCache.ts";
import type { LanguageModel, ModelOutputs } from "./LanguageModel.ts";
import { paddedTime } from "./Packing.ts";
import { neededRows } from "./RowQueue.ts";
import { Sampler } from "./Sampler.ts";
import { prefixRows } from "./Scheduler.ts";
import type { Draw, HistoryOf, SequenceModel, StepResults } from "./SequenceModel.ts";
import type { DecodeStep, PrefillStep, PrefixStep, Sequence, StepPlan } from "./StepPlan.ts";

/**
 * Decode batches and caches are padded to multiples of this many rows, so that few shapes occur. A few slots are not padded to twice their
 * number.
 */
export const rowBucket = (slots: number): number => (slots <= 4 ? 4 : 8);

/** Rows that a decode step of `count` sequences computes. A step that may have one row has 1, 2 or 4 where that suffices. */
const stepRows = (count: number, least: number, bucket: number): number =>
  least === 1 && count <= 2 ? count : toBucket(count, least === 1 && count <= 4 ? 4 : bucket);

/** Outputs of a run; `time` is the padded number of new tokens of a row. */
interface FedRows {
  readonly outputs: ModelOutputs;
  readonly time: number;
}

/** New tokens of one row, with the cache row of the tokens before them. */
interface RowTokens {
  readonly ids: Int32Array;
  readonly cache: KeyValueCache;
  readonly row: number;
  readonly past: number;
}

export class CachedModel<W> implements SequenceModel<W> {
  readonly #sampler: Sampler;
  readonly #model: LanguageModel<W>;
  readonly #cache: KeyValueCache;
  readonly #prefixes: KeyValueCache;
  /** Cached tokens of a prefill's sequences, gathered into neighbouring rows. */
  readonly #scratch: KeyValueCache;
  readonly #rowBucket: number;
  readonly #rowLimit: number;
  readonly #prefixRows: number;
  #ids = new BigInt64Array(0);
  #pasts = new BigInt64Array(0);

  constructor(model: LanguageModel<W>, slots: number) {
    this.#model = model;
    this.#sampler = new Sampler(model.shape.vocabSize);
    this.#cache = new KeyValueCache(model.shape);
    this.#prefixes = new KeyValueCache(model.shape);
    this.#scratch = new KeyValueCache(model.shape);
    this.#rowBucket = rowBucket(slots);
    this.#rowLimit = toBucket(slots, this.#rowBucket);
    this.#prefixRows = prefixRows(slots);
  }

  /** Brings the cache in line with a plan and the sequences that have rows. */
  arrange({ swaps, loads }: StepPlan, occupied: readonly Sequence[]): void {
    const { rows } = this.#cache;
    const needed = neededRows({ rows, bucket: this.#rowBucket, limit: this.#rowLimit }, swaps, occupied);
    if (needed > rows) this.#cache.reserve(needed, 1);
    for (const { a, b } of swaps) this.#cache.swap(a, b);
    let longest = this.#truncate(occupied);
    for (const { sequence, prefix, count } of loads) {
      this.#cache.reserve(0, count);
      this.#cache.copy(sequence.row, this.#prefixes, prefix.row, count);
      longest = Math.max(longest, count);
    }
    // Every step costs as much as the longest row allows, so shrink once no row is that long.
    if (this.#cache.capacity >= 2 * toBucket(longest + 1)) this.#cache.shrink(longest + 1);
  }

  /** Shortens rows to what their sequences have cached, and empties rows without a sequence. Returns the longest length. */
  #truncate(occupied: readonly Sequence[]): number {
    let longest = 0;
    let row = 0;
    for (const sequence of occupied) {
      while (row < sequence.row) this.#cache.truncate(row++, 0);
      this.#cache.truncate(row++, sequence.cached);
      longest = Math.max(longest, sequence.cached);
    }
    while (row < this.#cache.rows) this.#cache.truncate(row++, 0);
    return longest;
  }

  /** Decodes one token per sequence. The logits of a sequence are in row `sequence.row - from`. */
  async decode(
    weights: W,
    step: DecodeStep,
    historyOf: HistoryOf,
    draws: readonly (Draw | undefined)[],
  ): Promise<StepResults> {
    const rows = stepRows(step.to - step.from, this.#model.leastStepRows, this.#rowBucket);
    const from = Math.max(0, Math.min(step.from, this.#rowLimit - rows));
    let longest = 0;
    for (let row = from; row < from + rows; row++) longest = Math.max(longest, this.#cache.length(row));
    this.#cache.reserve(from + rows, longest + 1);
    if (this.#ids.length !== rows) {
      this.#ids = new BigInt64Array(rows);
      this.#pasts = new BigInt64Array(rows);
    }
    // Rows between those of the batch are computed too and ignored.
    this.#ids.fill(0n);
    for (let row = 0; row < rows; row++) this.#pasts[row] = BigInt(this.#cache.length(from + row));
    for (const { sequence, start } of step.chunks) this.#ids[sequence.row - from] = BigInt(historyOf(sequence)[start]!);
    const outputs = await this.#model.step(weights, this.#ids, this.#cache.view(from, from + rows), this.#pasts);
    const row = (index: number): number => step.chunks[index]!.sequence.row - from;
    return {
      keep: (index) => this.#keep(step.chunks[index]!.sequence, { outputs, time: 1 }, row(index), 1, step.version),
      token: (index) => this.#draw(outputs, row(index), draws[index]!),
    };
  }

  /** Feeds the next tokens of sequences, all with or all without cached tokens. Row i of the results is chunk i. */
  async feed(
    weights: W,
    { chunks, version }: PrefillStep,
    historyOf: HistoryOf,
    draws: readonly (Draw | undefined)[],
  ): Promise<StepResults> {
    const fed = await this.#feed(
      weights,
      chunks.map(({ sequence, start, count }) => ({
        ids: historyOf(sequence).subarray(start, start + count),
        cache: this.#cache,
        row: sequence.row,
        past: start,
      })),
    );
    return {
      keep: (index) => {
        const { count, sequence } = chunks[index]!;
        this.#keep(sequence, fed, index, count, version);
      },
      token: (index) => this.#draw(fed.outputs, index, draws[index]!),
    };
  }

  #draw({ logits }: ModelOutputs, row: number, { sampling, uniform }: Draw): Sampler {
    this.#sampler.draw(logits, row * this.#model.shape.vocabSize, sampling, uniform);
    return this.#sampler;
  }

  /** Appends `count` tokens of row `index` of the outputs to a sequence's row. */
  #keep(sequence: Sequence, { outputs, time }: FedRows, index: number, count: number, version: Version): void {
    this.#cache.reserve(0, this.#cache.length(sequence.row) + count);
    this.#cache.append(sequence.row, outputs, index, time, count, version);
  }

  /** Feeds the next tokens of prefixes and stores them at once. */
  async feedPrefixes(weights: W, { chunks, version }: PrefixStep, historyOf: HistoryOf): Promise<void> {
    for (const { prefix, start } of chunks) {
      this.#prefixes.reserve(Math.min(this.#prefixRows, toBucket(prefix.row + 1, this.#rowBucket)), prefix.length);
      if (start === 0) this.#prefixes.truncate(prefix.row, 0);
    }
    const { outputs, time } = await this.#feed(
      weights,
      chunks.map(({ sequence, prefix, start, count }) => ({
        ids: historyOf(sequence).subarray(start, start + count),
        cache: this.#prefixes,
        row: prefix.row,
        past: start,
      })),
    );
    for (const [index, { prefix, count }] of chunks.entries())
      this.#prefixes.append(prefix.row, outputs, index, time, count, version);
  }

  async #feed(weights: W, batch: readonly RowTokens[]): Promise<FedRows> {
    const rows = batch.length;
    const time = paddedTime(batch.reduce((most, { ids }) => Math.max(most, ids.length), 0));
    const ids = new BigInt64Array(rows * time);
    const lengths = new BigInt64Array(rows);
    const pasts = new BigInt64Array(rows);
    let longest = 0;
    for (const [row, tokens] of batch.entries()) {
      for (let i = 0; i < tokens.ids.length; i++) ids[row * time + i] = BigInt(tokens.ids[i]!);
      lengths[row] = BigInt(tokens.ids.length);
      pasts[row] = BigInt(tokens.past);
      longest = Math.max(longest, tokens.past);
    }
    const tokens = { ids, lengths, time };
    if (longest === 0) return { time, outputs: await this.#model.prefill(weights, tokens) };
    this.#scratch.reset(rows, longest + time);
    for (const [index, { cache, row, past }] of batch.entries()) this.#scratch.copy(index, cache, row, past);
    return { time, outputs: await this.#model.extend(weights, tokens, this.#scratch.view(0, rows), pasts) };
  }
}
