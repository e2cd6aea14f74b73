/**
 * The sequences that are open: their ids, which servers do not keep, and which of them are being generated. Invariant: a request that came to
 * nothing leaves its sequence as it was before.
 */
import { Deferred, Effect } from "effect";
import type { Version } from "../../domain/Episode.ts";
import { PolicyError } from "../../domain/Errors.ts";
import type { GenerateRequest } from "../../generation/Policy.ts";
import { History } from "../../generation/Reply.ts";

export interface Sequence {
  readonly history: History;
  length: number;
  readonly pin: Version | null;
  /** The version whose caches it shares; null before its first answer. */
  cacheOf: Version | null;
  /** Fails when it is released; a request is open where there is one. */
  open: Deferred.Deferred<never, PolicyError> | undefined;
}

export interface Limits {
  readonly vocabSize: number;
  /** Of the longest sequence. */
  readonly positions: number;
  /** Whether requests may be pinned to a version. */
  readonly holds: (version: Version) => boolean;
}

const bad = (message: string): PolicyError => new PolicyError({ reason: "bad_request", message });

export class Sequences {
  readonly #all = new Map<number, Sequence>();
  #active = 0;

  get count(): number {
    return this.#all.size;
  }

  /** Those with an open request. */
  get active(): number {
    return this.#active;
  }

  /** Why the request cannot be; undefined where it can. The rules are those of generator threads. */
  refusal(request: GenerateRequest, { holds, positions, vocabSize }: Limits): PolicyError | undefined {
    const { append, maxTokens, pin, sampling, sequence: id } = request;
    const entry = this.#all.get(id);
    if (entry?.open !== undefined) return bad(`sequence ${id} is being generated already`);
    if (maxTokens < 1) return bad(`maxTokens must be 1 or more, not ${maxTokens}`);
    if (entry === undefined && append.length === 0) return bad(`sequence ${id} opens without a token`);
    if (!(sampling.temperature >= 0)) return bad(`temperature must be 0 or more, not ${sampling.temperature}`);
    const length = (entry?.length ?? 0) + append.length;
    if (length >= positions) return bad(`a history of ${length} tokens leaves no room in ${positions} positions`);
    const foreign = append.find((token) => token < 0 || token >= vocabSize);
    if (foreign !== undefined) return bad(`id ${foreign} is outside the vocabulary of ${vocabSize}`);
    if (entry !== undefined && entry.pin !== pin) return bad(`sequence ${id} cannot change its pinned version`);
    if (entry === undefined && pin !== null && !holds(pin)) return bad(`weights version ${pin} is no longer held`);
    return undefined;
  }

  /** Opens a request, and the sequence where it is new; `reply` is what comes of it, the ids to add to its history. */
  generate<A extends { readonly ids: Int32Array }>(
    { append, pin, sequence: id }: GenerateRequest,
    reply: (sequence: Sequence) => Effect.Effect<A, PolicyError>,
  ): Effect.Effect<A, PolicyError> {
    return Effect.suspend(() => {
      const known = this.#all.get(id);
      const entry: Sequence = known ?? { history: new History(), length: 0, pin, cacheOf: null, open: undefined };
      this.#all.set(id, entry);
      const released = Deferred.makeUnsafe<never, PolicyError>();
      entry.open = released;
      this.#active++;
      const before = entry.length;
      entry.history.write(append, before);
      entry.length = before + append.length;
      const answered = Effect.raceFirst(reply(entry), Deferred.await(released));
      return Effect.onExit(answered, (exit) =>
        Effect.sync(() => {
          this.#active--;
          entry.open = undefined;
          if (exit._tag === "Success") {
            entry.history.write(exit.value.ids, entry.length);
            entry.length += exit.value.ids.length;
            return;
          }
          entry.length = before;
          if (before === 0 && this.#all.get(id) === entry) this.#all.delete(id);
        }),
      );
    });
  }

  /** Forgets a sequence; an open request fails. Safe to call twice. */
  release(id: number): void {
    const entry = this.#all.get(id);
    if (entry === undefined) return;
    this.#all.delete(id);
    const error = bad(`sequence ${id} was released while it was being generated`);
    if (entry.open !== undefined) Deferred.doneUnsafe(entry.open, Effect.fail(error));
  }
}
