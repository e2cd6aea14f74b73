/** A group of a run in virtual time, from its admission until it is trained or discarded. Invariant: its tokens are those sampled so far, also in the middle of a reply. */
import type { Version } from "../../../domain/Episode.ts";
import type { PendingReply, Sampled } from "../GeneratorThreads.ts";
import type { LiveGroup } from "../staleness/StalenessPolicy.ts";
import type { PlayedGroup } from "./Played.ts";

export interface AdmittedGroup extends LiveGroup {
  readonly group: PlayedGroup;
  /** The version that samples all of it; absent when each token is sampled by the newest one. */
  readonly pinned: Version | undefined;
}

export class GroupInPlay implements LiveGroup {
  readonly number: number;
  readonly start: Version;
  readonly group: PlayedGroup;
  readonly pinned: Version | undefined;
  readonly sampled: Sampled[] = [];
  /** Episodes that have not ended. */
  left: number;
  isCancelled = false;
  readonly #pending = new Map<PendingReply, () => void>();

  constructor({ group, number, pinned, start }: AdmittedGroup) {
    this.number = number;
    this.start = start;
    this.group = group;
    this.pinned = pinned;
    this.left = group.episodes.length;
  }

  /** Tokens sampled so far. */
  get tokens(): number {
    const replies = [...this.sampled, ...[...this.#pending.keys()].map(({ sampled }) => sampled)];
    return replies.flat().reduce((sum, [, tokens]) => sum + tokens, 0);
  }

  /** A reply is under way; `onCancel` is called once it is aborted. */
  begin(reply: PendingReply, onCancel: () => void): void {
    this.#pending.set(reply, onCancel);
  }

  end(reply: PendingReply): void {
    this.#pending.delete(reply);
    this.sampled.push(reply.sampled);
  }

  /** Aborts all replies under way; their tokens stay counted. */
  cancel(): void {
    this.isCancelled = true;
    const pending = [...this.#pending];
    for (const [reply] of pending) {
      reply.cancel();
      this.end(reply);
    }
    for (const [, onCancel] of pending) onCancel();
  }
}
