/**
 * The policy as the groups of one window see it when replies are logged: a reply that the log holds is given at once, any other is
 * generated and logged. Invariant: the policy below gets the same history, and samples the same bits, as if it had sampled all of it.
 */
import { crc32 } from "node:zlib";
import { Effect } from "effect";
import { concatIds } from "../domain/Batch.ts";
import type { Sampled } from "../domain/Episode.ts";
import type { PolicyError } from "../domain/Errors.ts";
import type { LoggedReplies } from "../domain/LoggedReplies.ts";
import type { GenerateRequest, Policy, ReplySpan } from "./Policy.ts";

const checksumOf = (ids: Int32Array, before: number): number =>
  crc32(new Uint8Array(ids.buffer, ids.byteOffset, ids.byteLength), before);

/** A sequence as its requests know it. */
class LoggedSequence {
  /** True once the policy below has answered a request of it. */
  isOpen = false;
  /** True once the policy below was asked, so that it may hold something of it. */
  isRequested = false;
  /** Checksum of its history. */
  #checksum = 0;
  /** History that the policy below lacks, its replies, and its first request's shared prefix. */
  readonly #past: Int32Array[] = [];
  readonly #replies: ReplySpan[] = [];
  #pastLength = 0;
  #sharedPrefix: number | undefined;

  /** True before the first reply. */
  get isNew(): boolean {
    return this.#pastLength === 0 && !this.isOpen;
  }

  /** Checksum of all that decides the reply to a request, its key excepted. */
  checksum({ append, maxTokens, pin, sampling, stop = [] }: GenerateRequest): number {
    const { temperature, topK, topP } = sampling;
    const settings = JSON.stringify([maxTokens, pin, temperature, topK, topP, stop]);
    return crc32(settings, checksumOf(append, this.#checksum));
  }

  /** Takes a reply from the log into the history. */
  recordLogged({ append, sharedPrefix }: GenerateRequest, { ids }: Sampled): void {
    this.#advance(append, ids);
    this.#sharedPrefix ??= sharedPrefix;
    this.#past.push(append, ids);
    const start = this.#pastLength + append.length;
    this.#pastLength = start + ids.length;
    this.#replies.push({ start, end: this.#pastLength });
  }

  /** Takes a reply of the policy below into the history. */
  recordGenerated({ append }: GenerateRequest, { ids }: Sampled): void {
    this.#advance(append, ids);
    this.isOpen = true;
    this.#past.length = 0;
  }

  /** Returns the request for the policy below, with the history that it lacks. */
  requestBelow(request: GenerateRequest): GenerateRequest {
    if (this.isOpen || this.#replies.length === 0) return request;
    return {
      ...request,
      append: concatIds([...this.#past, request.append]),
      sharedPrefix: this.#sharedPrefix ?? request.sharedPrefix,
      replies: [...this.#replies],
    };
  }

  #advance(append: Int32Array, ids: Int32Array): void {
    this.#checksum = checksumOf(ids, checksumOf(append, this.#checksum));
  }
}

/** The policy for groups of one window, over its logged replies. */
export const loggedPolicy = (policy: typeof Policy.Service, replies: LoggedReplies): typeof Policy.Service => {
  const sequences = new Map<number, LoggedSequence>();
  const sequenceOf = (id: number): LoggedSequence => {
    const existing = sequences.get(id);
    if (existing !== undefined) return existing;
    const sequence = new LoggedSequence();
    sequences.set(id, sequence);
    return sequence;
  };
  const generate = (request: GenerateRequest): Effect.Effect<Sampled, PolicyError> =>
    Effect.suspend(() => {
      const sequence = sequenceOf(request.sequence);
      const checksum = sequence.checksum(request);
      // An open sequence goes on where it is: its earlier reply was not in the log.
      const logged = sequence.isOpen ? undefined : replies.find(request.key, checksum);
      if (logged !== undefined) {
        replies.onGiven?.(request, logged, sequence.isNew);
        sequence.recordLogged(request, logged);
        return Effect.succeed(logged);
      }
      sequence.isRequested = true;
      return Effect.tap(policy.generate(sequence.requestBelow(request)), (sampled) =>
        Effect.sync(() => {
          replies.add(request.key, checksum, sampled);
          sequence.recordGenerated(request, sampled);
        }),
      );
    });
  const release = (id: number): Effect.Effect<void> =>
    Effect.suspend(() => {
      const isRequested = sequences.get(id)?.isRequested === true;
      sequences.delete(id);
      return isRequested ? policy.release(id) : Effect.void;
    });
  return { ...policy, generate, release };
};
