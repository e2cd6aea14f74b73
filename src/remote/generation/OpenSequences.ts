/**
 * The open sequences: their ids, which servers do not keep, and their requests. Invariant: a request that fails leaves its sequence
 * unchanged.
 */
import { Deferred, Effect } from "effect";
import type { Version } from "../../domain/Episode.ts";
import { PolicyError } from "../../domain/Errors.ts";
import type { GenerateRequest } from "../../generation/Policy.ts";
import { History } from "../../generation/Reply.ts";

export interface OpenSequence {
  readonly history: History;
  length: number;
  readonly pin: Version | null;
  /** The version whose caches it shares; null before its first answer. */
  cacheOf: Version | null;
  /** Fails when the sequence is released; undefined unless a request is open. */
  released: Deferred.Deferred<never, PolicyError> | undefined;
}

export interface SequenceLimits {
  readonly vocabSize: number;
  /** Positions of the longest sequence. */
  readonly mostPositions: number;
  /** True if requests may be pinned to the version. */
  readonly canPin: (version: Version) => boolean;
}

const bad = (message: string): PolicyError => new PolicyError({ reason: "bad_request", message });

export class OpenSequences {
  readonly #sequences = new Map<number, OpenSequence>();
  #active = 0;

  get count(): number {
    return this.#sequences.size;
  }

  /** Sequences with an open request. */
  get active(): number {
    return this.#active;
  }

  /** The error of a request that cannot be made; undefined for a good one. Generator threads have the same rules. */
  refusal(request: GenerateRequest, { canPin, mostPositions, vocabSize }: SequenceLimits): PolicyError | undefined {
    const { append, maxTokens, pin, sampling, sequence: id } = request;
    const sequence = this.#sequences.get(id);
    if (sequence?.released !== undefined) return bad(`sequence ${id} is being generated already`);
    if (maxTokens < 1) return bad(`maxTokens must be 1 or more, not ${maxTokens}`);
    if (sequence === undefined && append.length === 0) return bad(`sequence ${id} opens without a token`);
    if (!(sampling.temperature >= 0)) return bad(`temperature must be 0 or more, not ${sampling.temperature}`);
    const length = (sequence?.length ?? 0) + append.length;
    if (length >= mostPositions)
      return bad(`a history of ${length} tokens leaves no room in ${mostPositions} positions`);
    const foreign = append.find((token) => token < 0 || token >= vocabSize);
    if (foreign !== undefined) return bad(`id ${foreign} is outside the vocabulary of ${vocabSize}`);
    if (sequence !== undefined && sequence.pin !== pin) return bad(`sequence ${id} cannot change its pinned version`);
    if (sequence === undefined && pin !== null && !canPin(pin)) return bad(`weights version ${pin} is no longer held`);
    return undefined;
  }

  /** Opens a request, and its sequence if that is new. The ids of `reply` are added to the history. */
  generate<A extends { readonly ids: Int32Array }>(
    { append, pin, sequence: id }: GenerateRequest,
    reply: (sequence: OpenSequence) => Effect.Effect<A, PolicyError>,
  ): Effect.Effect<A, PolicyError> {
    return Effect.suspend(() => {
      const existing = this.#sequences.get(id);
      const sequence: OpenSequence = existing ?? {
        history: new History(),
        length: 0,
        pin,
        cacheOf: null,
        released: undefined,
      };
      this.#sequences.set(id, sequence);
      const released = Deferred.makeUnsafe<never, PolicyError>();
      sequence.released = released;
      this.#active++;
      const lengthBefore = sequence.length;
      sequence.history.write(append, lengthBefore);
      sequence.length = lengthBefore + append.length;
      const answered = Effect.raceFirst(reply(sequence), Deferred.await(released));
      return Effect.onExit(answered, (exit) =>
        Effect.sync(() => {
          this.#active--;
          sequence.released = undefined;
          if (exit._tag === "Success") {
            sequence.history.write(exit.value.ids, sequence.length);
            sequence.length += exit.value.ids.length;
            return;
          }
          sequence.length = lengthBefore;
          if (lengthBefore === 0 && this.#sequences.get(id) === sequence) this.#sequences.delete(id);
        }),
      );
    });
  }

  /** Forgets a sequence; its open request fails. Safe to call twice. */
  release(id: number): void {
    const sequence = this.#sequences.get(id);
    if (sequence === undefined) return;
    this.#sequences.delete(id);
    const error = bad(`sequence ${id} was released while it was being generated`);
    if (sequence.released !== undefined) Deferred.doneUnsafe(sequence.released, Effect.fail(error));
  }
}
