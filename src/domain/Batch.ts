/**
 * A window as token arrays, the input of credit and update. Sequences are concatenated; sequence i occupies [offsets[i], offsets[i+1]). The
 * arrays over positions describe the id at a position as a target (mask 1 = it is trained on), so a sequence's first position is never a
 * target. The policy sampled the trained ids; with `rollout.enable_response_mask: false` ids of prompts are trained on too, and have no mu
 * and no version.
 */

/** A window as arrays over its tokens, which describe each id as a target. Sequence i occupies [offsets[i], offsets[i+1]). */
export interface TokenBatch {
  /** Index of the consumed window. */
  readonly window: number;
  /** All ids, [tokens]. */
  readonly ids: Int32Array;
  /** Sequence bounds, [sequences + 1]. */
  readonly offsets: Int32Array;
  /** 1 where the id is trained on, [tokens]. */
  readonly mask: Uint8Array;
  /** Log-probability under the distribution sampled from, 0 where nothing was, [tokens]. */
  readonly mu: Float32Array;
  /** Weights version that sampled the id, -1 where none did, [tokens]. */
  readonly versions: Int32Array;
  /** Reward placed on the token, [tokens]. */
  readonly rewards: Float32Array;
  /** `sequence`: each sequence carries its episode's whole reward; `turn`: each turn carries its own. */
  readonly placement: "sequence" | "turn";
  /** Group id of each sequence, [sequences]. */
  readonly groups: Int32Array;
  /** Member index of each sequence, [sequences]. */
  readonly members: Int32Array;
  /** Index of each sequence within its episode, [sequences]. */
  readonly sequenceIndex: Int32Array;
  /** Temperature the sequences were sampled at; pi is evaluated at the same. */
  readonly temperature: number;
  /** Share of the window's groups the filter kept. */
  readonly keptRatio: number;
}

/** A batch with credit assigned; advantages and returns are 0 where mask is 0. */
export interface CreditedBatch extends TokenBatch {
  readonly advantages: Float32Array;
  /** Critic's values at consumption; all 0 without a critic. */
  readonly values: Float32Array;
  readonly returns: Float32Array;
  /** Log-probability of each id under the weights the window is trained from, where credit needed it, [tokens]. */
  readonly proximal?: Float32Array;
}

export const sequences = (batch: Pick<TokenBatch, "offsets">): number => batch.offsets.length - 1;
/** Indices of all sequences, in order. */
export const allSequences = (batch: Pick<TokenBatch, "offsets">): readonly number[] =>
  Array.from({ length: sequences(batch) }, (_, i) => i);

/** First position of a sequence and the one after its last. Throws a RangeError where the batch has no such sequence. */
export const boundsOf = ({ offsets }: Pick<TokenBatch, "offsets">, sequence: number): readonly [number, number] => {
  const [from, to] = [offsets[sequence], offsets[sequence + 1]];
  if (from === undefined || to === undefined) throw new RangeError(`the batch has no sequence ${sequence}`);
  return [from, to];
};

export const lengthOf = (batch: Pick<TokenBatch, "offsets">, sequence: number): number => {
  const [from, to] = boundsOf(batch, sequence);
  return to - from;
};

/** The shortest sequence of a batch as a batch of its own; undefined of an empty one. */
export const shortest = (batch: TokenBatch): TokenBatch | undefined => {
  const [first, ...others] = allSequences(batch);
  if (first === undefined) return undefined;
  const chosen = others.reduce((best, next) => (lengthOf(batch, next) < lengthOf(batch, best) ? next : best), first);
  const [from, to] = boundsOf(batch, chosen);
  return {
    window: batch.window,
    ids: batch.ids.slice(from, to),
    offsets: Int32Array.of(0, to - from),
    mask: batch.mask.slice(from, to),
    mu: batch.mu.slice(from, to),
    versions: batch.versions.slice(from, to),
    rewards: batch.rewards.slice(from, to),
    placement: batch.placement,
    groups: batch.groups.slice(chosen, chosen + 1),
    members: batch.members.slice(chosen, chosen + 1),
    sequenceIndex: batch.sequenceIndex.slice(chosen, chosen + 1),
    temperature: batch.temperature,
    keptRatio: batch.keptRatio,
  };
};

export const trainedTokens = (batch: TokenBatch): number => batch.mask.reduce((sum, m) => sum + m, 0);

/** True if the id at position t is trained on and was sampled by the policy. */
export const isSampled = ({ mask, versions }: Pick<TokenBatch, "mask" | "versions">, t: number): boolean =>
  mask[t] !== 0 && (versions[t] ?? -1) >= 0;

/** Trained ids that were sampled. */
export const sampledTokens = (batch: Pick<TokenBatch, "mask" | "versions">): number =>
  batch.mask.reduce((sum, _, t) => sum + (isSampled(batch, t) ? 1 : 0), 0);

/** Joins id arrays end to end. A single one is returned itself. */
export const concatIds = (pieces: readonly Int32Array[]): Int32Array => {
  const [first] = pieces;
  if (first !== undefined && pieces.length === 1) return first;
  const ids = new Int32Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let offset = 0;
  for (const piece of pieces) {
    ids.set(piece, offset);
    offset += piece.length;
  }
  return ids;
};
