/** Turns episodes into records: their prompts and tokens, with the filter's verdict and the tokens' credit. Pure. */
import { boundsOf, type CreditedBatch } from "../../domain/Batch.ts";
import { type Episode, penaltyOf, rewardOf, type Sequence, succeeded, type Turn } from "../../domain/Episode.ts";
import { type EpisodeRecord, SCHEMA, type TurnRecord } from "../../domain/EpisodeRecord.ts";
import type { JudgedGroup } from "../../domain/Event.ts";
import type { Group } from "../../domain/Group.ts";

export interface RecordOrigin {
  readonly step: number;
  readonly split: "train" | "val";
}

/** The filter's verdict on a group, and its scores and credit in the window's update. */
export interface GroupResult {
  readonly judged: JudgedGroup;
  /** The episodes' rewards as the update uses them, by member; a failed episode has none. */
  readonly scores: ReadonlyMap<number, number>;
  /** The batch that the group was trained in; null if it was left out. */
  readonly batch: CreditedBatch | null;
  /** True if the values of the batch come from a critic. */
  readonly hasCriticValues: boolean;
}

/** Decodes each id of a reply by itself. */
export type PieceDecoder = (ids: Iterable<number>) => readonly string[];

const rounded = (values: Float32Array): readonly number[] =>
  Array.from(values, (value) => Math.round(value * 1e4) / 1e4);

/** The offset of the sequence in the batch; undefined if the batch lacks it. */
const startIn = (batch: CreditedBatch, { group, member }: Episode["id"], sequence: number): number | undefined => {
  const index = batch.groups.findIndex(
    (id, i) => id === group && batch.members[i] === member && batch.sequenceIndex[i] === sequence,
  );
  return index === -1 ? undefined : boundsOf(batch, index)[0];
};

/** The credit of the tokens of one reply, which begins at offset `at` of the batch. */
const creditAt = (
  { batch, hasCriticValues }: GroupResult,
  at: number | undefined,
  tokens: number,
): Pick<TurnRecord, "advantages" | "values"> =>
  batch === null || at === undefined
    ? {}
    : {
        advantages: rounded(batch.advantages.subarray(at, at + tokens)),
        ...(hasCriticValues ? { values: rounded(batch.values.subarray(at, at + tokens)) } : {}),
      };

const turnRecord = (
  { actions, call, executed, info, parsed, penalties, penalty, prompt, reward, sampled, thought }: Turn,
  credit: Pick<TurnRecord, "advantages" | "values">,
  pieces: PieceDecoder,
): TurnRecord => ({
  prompt_ids: Array.from(prompt),
  ids: Array.from(sampled.ids),
  pieces: pieces(sampled.ids),
  mu: rounded(sampled.mu),
  entropies: rounded(sampled.entropies),
  versions: Array.from(sampled.versions),
  ...credit,
  finish: sampled.finish,
  parsed,
  ...(thought === undefined ? {} : { thought }),
  actions,
  executed,
  reward,
  penalty,
  ...(penalties === undefined ? {} : { penalties }),
  info,
  ...(call === undefined ? {} : { call }),
});

const turnRecords = (
  turns: readonly Turn[],
  start: number | undefined,
  judgement: GroupResult | null,
  pieces: PieceDecoder,
): readonly TurnRecord[] => {
  let at = start;
  return turns.map((turn) => {
    const { prompt, sampled } = turn;
    const reply = at === undefined ? undefined : at + prompt.length;
    const credit = judgement === null ? {} : creditAt(judgement, reply, sampled.ids.length);
    at = reply === undefined ? undefined : reply + sampled.ids.length;
    return turnRecord(turn, credit, pieces);
  });
};

/** A token sequence of an episode, or a call that was discarded. */
interface RecordedSequence extends Sequence {
  readonly discarded?: true;
}

const recordOf = (
  origin: RecordOrigin,
  episode: Episode,
  [sequence, { discarded, summary, turns }]: readonly [number, RecordedSequence],
  judgement: GroupResult | null,
  pieces: PieceDecoder,
): EpisodeRecord => {
  const { final, id, outcome, seed, sequences, tag } = episode;
  const batch = judgement?.batch ?? null;
  const start = batch === null ? undefined : startIn(batch, id, sequence);
  const score = judgement?.scores.get(id.member);
  const groupScore = judgement?.judged.score;
  return {
    schema: SCHEMA,
    ...origin,
    group: id.group,
    member: id.member,
    sequence,
    ...(summary === undefined ? {} : { summary: true }),
    ...(discarded === undefined ? {} : { discarded }),
    tag,
    seed,
    success: succeeded(episode),
    reward: rewardOf(episode),
    penalty: penaltyOf(episode),
    outcome,
    ...(judgement === null ? {} : { verdict: judgement.judged.verdict }),
    ...(groupScore === undefined ? {} : { groupScore }),
    ...(score === undefined ? {} : { score }),
    messages: turns.flatMap(({ reply, state }) => [
      { role: "user" as const, content: state },
      { role: "assistant" as const, content: reply },
    ]),
    turns: turnRecords(turns, start, judgement, pieces),
    ...(final === undefined || sequence !== sequences.length - 1 ? {} : { final }),
  };
};

/** The token sequences of an episode, then a sequence for each call that was discarded. */
const recordedSequences = ({ discarded = [], sequences }: Episode): readonly RecordedSequence[] => [
  ...sequences,
  ...discarded.map((turn): RecordedSequence => ({ turns: [turn], discarded: true })),
];

/**
 * A record for each token sequence of each episode of the group, discarded calls included. The group's result is null for a validation,
 * which no filter judges.
 */
export const recordsOf = (
  origin: RecordOrigin,
  group: Group,
  judgement: GroupResult | null,
  pieces: PieceDecoder,
): readonly EpisodeRecord[] =>
  group.episodes.flatMap((episode) =>
    [...recordedSequences(episode).entries()].map((entry) => recordOf(origin, episode, entry, judgement, pieces)),
  );
