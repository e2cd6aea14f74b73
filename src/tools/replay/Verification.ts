/**
 * Samples the replies of a recorded run again while its updates are repeated. A window is verified when its turn at the learner comes, by
 * the versions that it was sampled with. Invariant: the learner is at most one version ahead of the verification.
 */
import type { Sampled, Version } from "../../domain/Episode.ts";
import type { GeneratorModel } from "../../generation/LanguageModel.ts";
import type { GenerateRequest } from "../../generation/Policy.ts";
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
  readonly tokens: number;
  /** Sequences with a token that came out otherwise. */
  readonly differing: number;
  readonly first: WindowDifference | null;
}

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

  add({ append, key, sampling, sequence }: GenerateRequest, sampled: Sampled, opens: boolean): void {
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
  readonly #arrivals = new Map<Version, PromiseWithResolvers<void>>();
  /** Verifications by the version that their windows are trained from. */
  readonly #pending = new Set<{ readonly from: Version; readonly done: Promise<void> }>();
  #last: Promise<void> = Promise.resolve();
  #result: VerificationResult = { tokens: 0, differing: 0, first: null };

  constructor(model: GeneratorModel<W>, { staleness, ...options }: VerificationOptions) {
    this.#model = model;
    this.#staleness = staleness;
    this.#regenerator = new Regenerator(model, (version) => this.#weightsOf(version), options);
  }

  /** Takes a reply that a window was given from the log. */
  collect(window: number, request: GenerateRequest, sampled: Sampled, opens: boolean): void {
    const sequences = this.#windows.get(window) ?? new WindowSequences();
    this.#windows.set(window, sequences);
    sequences.add(request, sampled, opens);
  }

  /** Takes the weights of a version. Resolves once the windows that were trained from older ones are verified. */
  async receive(version: Version, payload: Payload): Promise<void> {
    this.#weights.set(version, this.#model.weights(version, payload));
    this.#arrival(version).resolve();
    const older = [...this.#pending].filter(({ from }) => from < version);
    await Promise.allSettled(older.map(({ done }) => done));
  }

  /** Begins the verification of a window, which is trained from version `from`. */
  begin(window: number, from: Version): void {
    const done = this.#last.then(() => this.#verify(window, from));
    const verifying = { from, done };
    this.#pending.add(verifying);
    this.#last = done;
    // `result` tells of a failure.
    done.catch(() => undefined).finally(() => this.#pending.delete(verifying));
  }

  /** Returns the result once all windows that were begun are verified. Rejects if a record does not lead to its tokens. */
  async result(): Promise<VerificationResult> {
    await this.#last;
    return this.#result;
  }

  async close(): Promise<void> {
    await this.#last.catch(() => undefined);
    await this.#model.close();
  }

  async #verify(window: number, from: Version): Promise<void> {
    await this.#arrival(from).promise;
    const sequences = this.#windows.get(window)?.sorted ?? [];
    this.#windows.delete(window);
    const { differences, tokens } = await this.#regenerator.run(sequences);
    const [first] = differences;
    this.#result = {
      tokens: this.#result.tokens + tokens,
      differing: this.#result.differing + differences.length,
      first: this.#result.first ?? (first === undefined ? null : { window, ...first }),
    };
    this.#forgetBefore(from - this.#staleness);
  }

  #arrival(version: Version): PromiseWithResolvers<void> {
    const existing = this.#arrivals.get(version);
    if (existing !== undefined) return existing;
    const arrival = Promise.withResolvers<void>();
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
