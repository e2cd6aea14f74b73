/**
 * Samples recorded replies again: each sequence is fed as its record says, by the same versions, and each token is drawn from the same
 * stream. Invariant: the tokens have the recorded bits unless the weights, the record or the arithmetic is another one.
 */
import type { CacheFill, Version } from "../domain/Episode.ts";
import { CachedModel } from "./CachedModel.ts";
import type { GeneratorModel } from "./LanguageModel.ts";
import { pack } from "./Packing.ts";
import { type RecordedSequence, ReplayedSequence, type TokenDifference } from "./ReplayedSequence.ts";
import { Rows } from "./Rows.ts";
import { prefixRows } from "./Scheduler.ts";
import type { HistoryOf, SequenceModel } from "./SequenceModel.ts";
import type { Chunk, DecodeStep, PrefillStep, Prefix, PrefixLoad, PrefixStep, RowSwap, Sequence } from "./StepPlan.ts";

export interface RegeneratorOptions {
  /** Sequences that are sampled side by side. */
  readonly slots: number;
  /** Most tokens of one prefill step, padding included. It is the recorded run's, whose chunks are not longer. */
  readonly prefillTokens: number;
}

export interface Regeneration {
  /** Tokens that were sampled again. */
  readonly tokens: number;
  /** The first difference of each sequence that has one, in the order of the sequences. */
  readonly differences: readonly TokenDifference[];
}

/** A sequence in a row, and what is fed to it next. */
interface Candidate {
  readonly replayed: ReplayedSequence;
  readonly feed: CacheFill;
}

const isChunk = ({ feed }: Candidate): boolean => feed.form === "chunk";

interface PlannedStep {
  readonly step: PrefillStep | DecodeStep;
  readonly swaps: readonly RowSwap[];
}

/** Returns groups of sequences, two or more, that begin with the same chunk. No token is drawn after such a chunk. */
const sharedOpenings = (chunks: readonly Candidate[]): readonly (readonly Candidate[])[] => {
  const openings = chunks.filter(({ feed, replayed }) => feed.from === 0 && feed.to < replayed.sequence.length);
  const idsOf = ({ feed, replayed }: Candidate): string => replayed.history.ids.subarray(0, feed.to).join();
  return [...Map.groupBy(openings, idsOf).values()].filter(({ length }) => length > 1);
};

export class Regenerator<W> {
  readonly #model: SequenceModel<W>;
  readonly #weights: (version: Version) => W;
  readonly #options: RegeneratorOptions;
  #rows: Rows<Sequence>;

  /** `weights` returns those of a version, and throws for one that is not there. */
  constructor(model: GeneratorModel<W>, weights: (version: Version) => W, options: RegeneratorOptions) {
    this.#model = "sequences" in model ? model.sequences(options.slots) : new CachedModel(model, options.slots);
    this.#weights = weights;
    this.#options = options;
    this.#rows = new Rows(options.slots);
  }

  /** Samples all replies of the sequences again. Throws BrokenRecord if a record does not lead to its tokens. */
  async run(sequences: readonly RecordedSequence[]): Promise<Regeneration> {
    const replayed = sequences.map((replies, index) => new ReplayedSequence(index, replies));
    const waiting = replayed.toReversed();
    let active: readonly Candidate[] = [];
    let tokens = 0;
    this.#rows = new Rows(this.#options.slots);
    for (;;) {
      active = this.#admit(active, waiting);
      if (active.length === 0) break;
      tokens += await this.#step(active);
    }
    return { tokens, differences: replayed.flatMap(({ difference }) => difference ?? []) };
  }

  /** Returns the sequences in rows with their next feeds. Those that ended have left their rows to waiting ones. */
  #admit(active: readonly Candidate[], waiting: ReplayedSequence[]): readonly Candidate[] {
    const candidates: Candidate[] = [];
    for (const { replayed } of active) {
      const feed = replayed.nextFeed();
      if (feed === undefined) this.#rows.free(replayed.sequence);
      else candidates.push({ replayed, feed });
    }
    while (this.#rows.hasFree && waiting.length > 0) {
      const replayed = waiting.pop()!;
      const feed = replayed.nextFeed();
      if (feed === undefined) continue;
      this.#rows.give(replayed.sequence);
      candidates.push({ replayed, feed });
    }
    return candidates;
  }

  /** Runs one step of the oldest version that a sequence waits for, chunks before decode steps. Returns the number of drawn tokens. */
  async #step(active: readonly Candidate[]): Promise<number> {
    const version = Math.min(...active.map(({ feed }) => feed.version));
    const ofVersion = active.filter(({ feed }) => feed.version === version);
    const chunks = ofVersion.filter(isChunk);
    if (chunks.length === 0) return this.#run(this.#decode(ofVersion, version), ofVersion);
    const shared = sharedOpenings(chunks);
    if (shared.length === 0) return this.#run(this.#prefill(chunks, version), ofVersion);
    await this.#feedOpenings(shared, version);
    return 0;
  }

  async #run({ step, swaps }: PlannedStep, candidates: readonly Candidate[]): Promise<number> {
    const byId = new Map(candidates.map(({ replayed }) => [replayed.sequence.id, replayed]));
    const replayedOf = ({ sequence }: Chunk): ReplayedSequence => byId.get(sequence.id)!;
    const historyOf: HistoryOf = ({ id }) => byId.get(id)!.history.ids;
    const draws = step.chunks.map((chunk) => (chunk.isLast ? replayedOf(chunk).draw() : undefined));
    await this.#model.arrange({ swaps, loads: [], step }, this.#rows.occupied);
    const weights = this.#weights(step.version);
    const results =
      step.kind === "decode"
        ? await this.#model.decode(weights, step, historyOf, draws)
        : await this.#model.feed(weights, step, historyOf, draws);
    let tokens = 0;
    for (const [index, chunk] of step.chunks.entries()) {
      results.keep(index);
      replayedOf(chunk).recordFed(chunk);
      if (!chunk.isLast) continue;
      replayedOf(chunk).compare(results.token(index), step.version);
      tokens++;
    }
    return tokens;
  }

  /** Feeds openings once each, as many as one step takes, and copies them to their sequences. */
  async #feedOpenings(shared: readonly (readonly Candidate[])[], version: Version): Promise<void> {
    const openings = shared.slice(0, prefixRows(this.#options.slots)).map((members, row) => {
      const { feed, replayed } = members[0]!;
      const prefix: Prefix = { version, length: feed.to, row, cached: 0, lastNeeded: 0 };
      const { length, ticket } = replayed.sequence;
      return { members, replayed, prefix, version, cached: 0, end: feed.to, length, ticket };
    });
    const packed = pack(openings, this.#options.prefillTokens).chunks;
    const chunks = packed.map(({ item: { prefix, replayed }, ...chunk }) => ({
      ...chunk,
      prefix,
      sequence: replayed.sequence,
    }));
    const histories = new Map(packed.map(({ item: { replayed } }) => [replayed.sequence.id, replayed.history]));
    const step: PrefixStep = { kind: "prefix", version, chunks };
    await this.#model.arrange({ swaps: [], loads: [], step }, this.#rows.occupied);
    await this.#model.feedPrefixes(this.#weights(version), step, ({ id }) => histories.get(id)!.ids);
    const loads = packed.flatMap(({ count, item: { members, prefix } }) =>
      members.map(({ replayed: { sequence } }): PrefixLoad => ({ sequence, prefix, count })),
    );
    await this.#model.arrange({ swaps: [], loads, step: { kind: "none" } }, this.#rows.occupied);
    for (const { feed, replayed } of packed.flatMap(({ item }) => item.members))
      replayed.recordFed(replayed.chunkOf(feed));
  }

  #prefill(candidates: readonly Candidate[], version: Version): PlannedStep {
    const feedable = candidates.map(({ feed, replayed }) => {
      const { length, ticket } = replayed.sequence;
      return { replayed, feed, version, cached: feed.from, end: feed.to, length, ticket };
    });
    const chunks = pack(feedable, this.#options.prefillTokens).chunks.map(({ item }) =>
      item.replayed.chunkOf(item.feed),
    );
    return { step: { kind: "prefill", version, chunks }, swaps: [] };
  }

  #decode(candidates: readonly Candidate[], version: Version): PlannedStep {
    const chunks = candidates.map(({ feed, replayed }) => replayed.chunkOf(feed));
    const sequences = chunks.map(({ sequence }) => sequence);
    const swaps = this.#rows.gather(sequences, () => false);
    const rows = sequences.map(({ row }) => row);
    const [from, to] = [Math.min(...rows), Math.max(...rows) + 1];
    return { step: { kind: "decode", version, chunks, from, to, isSplit: false }, swaps };
  }
}
