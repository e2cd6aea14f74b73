/**
 * A recorded sequence on its way through a regeneration: the next fill of its cache, its history so far, and the draws of its current reply.
 * Invariant: the history is the recorded one, so one token that differs does not change the tokens after it.
 */
import type { CacheFill, Sampled, Version } from "../domain/Episode.ts";
import { type Random, type StreamKey, stream } from "../domain/Random.ts";
import { emptyTrace } from "./FeedTrace.ts";
import type { Sampling } from "./Policy.ts";
import { History } from "./Reply.ts";
import type { Draw, Token } from "./SequenceModel.ts";
import type { Chunk, Sequence } from "./StepPlan.ts";

/** A reply as it was recorded, with its cache fills, and what it was drawn from. */
export interface RecordedReply {
  /** Ids that joined the history before the reply. */
  readonly append: Int32Array;
  readonly sampling: Sampling;
  readonly key: StreamKey;
  readonly sampled: Sampled;
}

/** The replies of one sequence since it was opened, in order. */
export type RecordedSequence = readonly RecordedReply[];

export interface ComparedToken {
  readonly id: number;
  readonly mu: number;
}

/** The first token of a sequence that came out otherwise. */
export interface TokenDifference {
  /** Index of the sequence, of its reply, and of the token in the reply. */
  readonly sequence: number;
  readonly reply: number;
  readonly token: number;
  readonly version: Version;
  /** Stream of the reply's draws. */
  readonly key: StreamKey;
  readonly recorded: ComparedToken;
  readonly regenerated: ComparedToken;
}

/** Thrown if the fills of a recorded reply do not lead to its tokens. */
export class BrokenRecord extends Error {
  override readonly name = "BrokenRecord";
}

/** Returns the feeds of fills: chunks as they are, and each decoded position by itself. */
const feedsOf = (fills: readonly CacheFill[]): readonly CacheFill[] =>
  fills.flatMap((fill) =>
    fill.form === "chunk"
      ? [fill]
      : Array.from({ length: fill.to - fill.from }, (_, i) => ({
          ...fill,
          from: fill.from + i,
          to: fill.from + i + 1,
        })),
  );

const bitsEqual = (a: ComparedToken, b: ComparedToken): boolean => a.id === b.id && Object.is(a.mu, b.mu);

export class ReplayedSequence {
  /** The sequence as models take it, with its cache row. */
  readonly sequence: Sequence;
  readonly history = new History();
  readonly #index: number;
  readonly #replies: RecordedSequence;
  /** Index of the current reply; -1 before the first. */
  #reply = -1;
  #feeds: readonly CacheFill[] = [];
  #fed = 0;
  /** Tokens of the current reply that were drawn. */
  #drawn = 0;
  #random: Random | undefined;
  #difference: TokenDifference | undefined;

  constructor(index: number, replies: RecordedSequence) {
    this.#index = index;
    this.#replies = replies;
    this.sequence = {
      id: index,
      pin: null,
      prefixKey: "",
      prefixLength: 0,
      phase: "active",
      row: -1,
      length: 0,
      cached: 0,
      trace: emptyTrace,
      fills: undefined,
      ticket: index,
      lastUsed: 0,
    };
  }

  /** The first token that came out otherwise; undefined if there is none so far. */
  get difference(): TokenDifference | undefined {
    return this.#difference;
  }

  /** Returns what is fed next, a chunk or one position; undefined at the end. Throws BrokenRecord. */
  nextFeed(): CacheFill | undefined {
    while (this.#fed >= this.#feeds.length) if (!this.#openReply()) return undefined;
    const feed = this.#feeds[this.#fed]!;
    const { cached, length } = this.sequence;
    if (feed.from > cached || feed.to > length)
      throw this.#broken(`fills ${feed.from} to ${feed.to} of ${length} positions, of which ${cached} are filled`);
    return feed;
  }

  /** Returns the chunk of `feed`. Positions from its start on are forgotten. */
  chunkOf({ from, to }: CacheFill): Chunk {
    this.sequence.cached = from;
    return { sequence: this.sequence, start: from, count: to - from, isLast: to === this.sequence.length };
  }

  /** Returns the draw of the current reply's next token. */
  draw(): Draw {
    return { sampling: this.#current.sampling, uniform: this.#random!.uniform() };
  }

  /** Records that the chunk is in the cache. */
  recordFed({ start, count }: Chunk): void {
    this.sequence.cached = start + count;
    this.#fed++;
  }

  /** Compares a token, drawn by `version`, with the recorded one, which joins the history. */
  compare({ id, mu }: Token, version: Version): void {
    const { key, sampled } = this.#current;
    const token = this.#drawn++;
    if (token >= sampled.ids.length) throw this.#broken(`draws more than its ${sampled.ids.length} tokens`);
    const recorded = { id: sampled.ids[token]!, mu: sampled.mu[token]! };
    // The sampler's log-probability is rounded as it is in a reply.
    const regenerated = { id, mu: Math.fround(mu) };
    if (!bitsEqual(recorded, regenerated))
      this.#difference ??= {
        sequence: this.#index,
        reply: this.#reply,
        token,
        version,
        key,
        recorded,
        regenerated,
      };
    this.history.writeOne(recorded.id, this.sequence.length++);
  }

  get #current(): RecordedReply {
    return this.#replies[this.#reply]!;
  }

  /** Opens the next reply, or returns false without one. */
  #openReply(): boolean {
    if (this.#reply >= 0 && this.#drawn < this.#current.sampled.ids.length)
      throw this.#broken(`draws ${this.#drawn} of its ${this.#current.sampled.ids.length} tokens`);
    const next = this.#replies[this.#reply + 1];
    if (next === undefined) return false;
    this.#reply++;
    if (next.sampled.fills === undefined) throw this.#broken("has no record of its cache");
    this.history.write(next.append, this.sequence.length);
    this.sequence.length += next.append.length;
    this.#feeds = feedsOf(next.sampled.fills);
    this.#fed = 0;
    this.#drawn = 0;
    this.#random = stream(next.key);
    return true;
  }

  #broken(what: string): BrokenRecord {
    return new BrokenRecord(`reply ${this.#reply} of sequence ${this.#index} ${what}`);
  }
}
