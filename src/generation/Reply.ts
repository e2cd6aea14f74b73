/** A sequence's history, and its reply while it is being sampled. Invariant: token t of a reply is drawn with draw t of its stream. */
import type { CacheFill, Finish, Sampled, Version } from "../domain/Episode.ts";
import { type Random, stream } from "../domain/Random.ts";
import type { StopMatcher, StopState } from "../model/tokenizer/StopMatcher.ts";
import type { GenerateRequest } from "./Policy.ts";

export interface GenerationFailure {
  readonly code: "session_failed" | "bad_request" | "not_finite";
  readonly message: string;
  /** The error that a failed step threw. */
  readonly cause?: unknown;
}

export interface ReplyCallbacks {
  readonly done: (sampled: Sampled) => void;
  readonly fail: (failure: GenerationFailure) => void;
}

/** Ids of a sequence from its opening on, in a buffer that grows. */
export class History {
  #ids = new Int32Array(0);

  /** The whole buffer. Numbers beyond the sequence's length are meaningless. */
  get ids(): Int32Array {
    return this.#ids;
  }

  /** Writes ids from position `length` on. */
  write(ids: Int32Array, length: number): void {
    this.#reserve(length + ids.length);
    this.#ids.set(ids, length);
  }

  writeOne(id: number, length: number): void {
    this.#reserve(length + 1);
    this.#ids[length] = id;
  }

  #reserve(length: number): void {
    if (length <= this.#ids.length) return;
    const grown = new Int32Array(Math.max(64, 2 * length));
    grown.set(this.#ids);
    this.#ids = grown;
  }
}

export class Reply {
  readonly request: GenerateRequest;
  readonly callbacks: ReplyCallbacks;
  /** Tokens of the history before this request. */
  readonly base: number;
  readonly #random: Random;
  readonly #stops: StopMatcher | null;
  /** State of the stop matcher after the reply's bytes so far. */
  #stop: StopState;
  readonly #ids: Int32Array;
  readonly #mu: Float32Array;
  readonly #versions: Int32Array;
  readonly #entropies: Float32Array;
  #count = 0;

  constructor(request: GenerateRequest, callbacks: ReplyCallbacks, base: number, stops: StopMatcher | null) {
    this.request = request;
    this.callbacks = callbacks;
    this.base = base;
    this.#stops = stops;
    this.#stop = stops?.start ?? 0;
    this.#random = stream(request.key);
    this.#ids = new Int32Array(request.maxTokens);
    this.#mu = new Float32Array(request.maxTokens);
    this.#versions = new Int32Array(request.maxTokens);
    this.#entropies = new Float32Array(request.maxTokens);
  }

  get isFull(): boolean {
    return this.#count >= this.request.maxTokens;
  }

  /** True if `id`, the newest, completes a stop text. */
  completesStop(id: number): boolean {
    if (this.#stops === null) return false;
    const { matched, state } = this.#stops.advance(this.#stop, id);
    this.#stop = state;
    return matched;
  }

  /** Draws the next token's uniform number. */
  uniform(): number {
    return this.#random.uniform();
  }

  push(
    { id, mu, entropy }: { readonly id: number; readonly mu: number; readonly entropy: number },
    version: Version,
  ): void {
    this.#ids[this.#count] = id;
    this.#mu[this.#count] = mu;
    this.#versions[this.#count] = version;
    this.#entropies[this.#count] = entropy;
    this.#count++;
  }

  sampled(finish: Finish, fills: readonly CacheFill[] | undefined): Sampled {
    return {
      ids: this.#ids.slice(0, this.#count),
      mu: this.#mu.slice(0, this.#count),
      versions: this.#versions.slice(0, this.#count),
      entropies: this.#entropies.slice(0, this.#count),
      finish,
      ...(fills === undefined ? {} : { fills }),
    };
  }
}
