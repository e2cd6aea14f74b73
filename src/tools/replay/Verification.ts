/**
 * Samples the replies of a recorded run again while its updates are repeated. A window is verified when its turn at the learner comes, by
 * the versions that it was sampled with. Invariant: weights are kept as long as a window that is not verified may need them.
 */
import type { Sampled, Version } from "../../domain/Episode.ts";
import type { RepliedRequest } from "../../domain/LoggedReplies.ts";
import type { GeneratorModel } from "../../generation/LanguageModel.ts";
import { Regenerator, type RegeneratorOptions } from "../../generation/Regenerator.ts";
import type { RecordedReply, RecordedSequence, TokenDifference } from "../../generation/ReplayedSequence.ts";
import type { Payload } from "../../model/weights/Weights.ts";

export interface VerificationOptions extends RegeneratorOptions {
  /** Versions behind the newest one that a window may have been sampled with. */
  readonly staleness: number;
}

/** The first token of a window's first sequence that came out otherwise. */
export interface WindowDifference extends TokenDifference {
  readonly window: number;
}

export interface VerificationResult {
  /** Tokens that were sampled again. */
  readonly tokens: number;
  /** Tokens of sequences that were begun before the replay's first version, whose weights are not there. */
  readonly unverified: number;
  /** Sequences with a token that came out otherwise. */
  readonly differing: number;
  readonly first: WindowDifference | null;
}

export const nothingVerified: VerificationResult = { tokens: 0, unverified: 0, differing: 0, first: null };

const tokensOf = (sequences: readonly RecordedSequence[]): number =>
  sequences.flat().reduce((sum, { sampled }) => sum + sampled.ids.length, 0);

/** Orders sequences by the counters of their first replies: by group, member and turn. */
const byCounters = (a: RecordedSequence, b: RecordedSequence): number => {
  const [left, right] = [a[0]!.key.counters, b[0]!.key.counters];
  const at = left.findIndex((counter, i) => counter !== right[i]);
  return at < 0 ? 0 : left[at]! - (right[at] ?? -1);
};

/** Collects the sequences of a window from the replies that were given to it. */
class WindowSequences {
  readonly #sequences: RecordedReply[][] = [];
  readonly #open = new Map<number, RecordedReply[]>();

  add({ append, key, sampling, sequence }: RepliedRequest, sampled: Sampled, opens: boolean): void {
    const reply: RecordedReply = { append, key, sampling, sampled };
    const replies = opens ? undefined : this.#open.get(sequence);
    if (replies !== undefined) replies.push(reply);
    else {
      const opened = [reply];
      this.#open.set(sequence, opened);
      this.#sequences.push(opened);
    }
  }

  get sorted(): readonly RecordedSequence[] {
    return this.#sequences.toSorted(byCounters);
  }
}

export class Verification<W> {
  readonly #model: GeneratorModel<W>;
  readonly #regenerator: Regenerator<W>;
  readonly #staleness: number;
  readonly #weights = new Map<Version, W>();
  readonly #windows = new Map<number, WindowSequences>();
  /** True for a version that has come, false for one that will not. */
  readonly #arrivals = new Map<Version, PromiseWithResolvers<boolean>>();
  #last: Promise<void> = Promise.resolve();
  /** The verification before the last one. */
  #previous: Promise<void> = Promise.resolve();
  /** Oldest version that the replay has had. */
  #oldest: Version = Number.POSITIVE_INFINITY;
  #isEnded = false;
  #result: VerificationResult = nothingVerified;

  constructor(model: GeneratorModel<W>, { staleness, ...options }: VerificationOptions) {
    this.#model = model;
    this.#staleness = staleness;
    this.#regenerator = new Regenerator(model, (version) => this.#weightsOf(version), options);
  }

  /** Takes a reply that a window was given from the log. */
  collect(window: number, request: RepliedRequest, sampled: Sampled, opens: boolean): void {
    const sequences = this.#windows.get(window) ?? new WindowSequences();
    this.#windows.set(window, sequences);
    sequences.add(request, sampled, opens);
  }

  /** Takes the weights of a version. */
  receive(version: Version, payload: Payload): void {
    this.#oldest = Math.min(this.#oldest, version);
    this.#weights.set(version, this.#model.weights(version, payload));
    this.#arrival(version).resolve(true);
  }

  /** Begins the verification of a window, which is trained from version `from`. */
  begin(window: number, from: Version): void {
    this.#previous = this.#last;
    this.#last = this.#last.then(() => this.#verify(window, from));
    // `result` tells of a failure.
    this.#last.catch(() => undefined);
  }

  /**
   * Resolves once all windows but the one begun last are verified, or the verification has failed. If updates wait for it, a window is
   * verified while it is trained on, and the weights kept are those of one more version.
   */
  async caughtUp(): Promise<void> {
    await this.#previous.catch(() => undefined);
  }

  /**
   * Returns the result of the windows whose weights have come. No more weights may come. Rejects if a record does not lead to its tokens.
   */
  async result(): Promise<VerificationResult> {
    this.#isEnded = true;
    for (const arrival of this.#arrivals.values()) arrival.resolve(false);
    await this.#last;
    return this.#result;
  }

  async close(): Promise<void> {
    await this.result().catch(() => undefined);
    await this.#model.close();
  }

  async #verify(window: number, from: Version): Promise<void> {
    if (!(await this.#arrival(from).promise)) return;
    const sequences = this.#windows.get(window)?.sorted ?? [];
    this.#windows.delete(window);
    const usable = sequences.filter((replies) => this.#hasWeightsOf(replies));
    const { differences, tokens } = await this.#regenerator.run(usable);
    const [first] = differences;
    this.#result = {
      tokens: this.#result.tokens + tokens,
      unverified: this.#result.unverified + tokensOf(sequences) - tokensOf(usable),
      differing: this.#result.differing + differences.length,
      first: this.#result.first ?? (first === undefined ? null : { window, ...first }),
    };
    this.#forgetBefore(from - this.#staleness);
  }

  #hasWeightsOf(replies: RecordedSequence): boolean {
    return replies.every(({ sampled }) => (sampled.fills ?? []).every(({ version }) => version >= this.#oldest));
  }

  #arrival(version: Version): PromiseWithResolvers<boolean> {
    const existing = this.#arrivals.get(version);
    if (existing !== undefined) return existing;
    const arrival = Promise.withResolvers<boolean>();
    if (this.#isEnded) arrival.resolve(false);
    this.#arrivals.set(version, arrival);
    return arrival;
  }

  #forgetBefore(version: Version): void {
    for (const [older, weights] of this.#weights) {
      if (older >= version) continue;
      this.#model.forget?.(weights);
      this.#weights.delete(older);
    }
  }

  #weightsOf(version: Version): W {
    const weights = this.#weights.get(version);
    if (weights === undefined) throw new RangeError(`weights version ${version} are not there`);
    return weights;
  }
}
