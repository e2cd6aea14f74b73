/**
 * Episodes of an endpoint as records of trajectories.jsonl, so that every viewer of episodes shows them: without tokens, and with the
 * messages that were shown in place of their ids. Pure.
 */
import { type EpisodeRecord, SCHEMA, type SentMessage, type TurnRecord } from "../../domain/EpisodeRecord.ts";
import {
  type EvaluatedEpisode,
  type EvaluatedSequence,
  type EvaluatedSummary,
  type EvaluatedTurn,
  penaltyOf,
  type Replied,
  rewardOf,
  sequencesOf,
} from "./EvaluatedEpisode.ts";

/** An endpoint does not report these fields. */
const withoutTokens = { prompt_ids: [], ids: [], pieces: [], mu: [], entropies: [], versions: [] } as const;

const repliedOf = ({ finish, promptTokens, tokens }: Replied, prompt: readonly SentMessage[]) => ({
  ...withoutTokens,
  prompt,
  counted: { prompt: promptTokens, reply: tokens },
  finish,
});

/** A turn with its reply, and all that was shown before it. */
interface ShownTurn {
  readonly turn: EvaluatedTurn;
  readonly reply: string;
  readonly chat: readonly SentMessage[];
}

const shownTurnsOf = ({ messages, turns }: EvaluatedEpisode): readonly ShownTurn[] => {
  const replies = [...messages.entries()].filter(([, { role }]) => role === "assistant");
  return turns.flatMap((turn, index) => {
    const [at, reply] = replies[index] ?? [];
    return reply === undefined ? [] : [{ turn, reply: reply.content, chat: turn.shown ?? messages.slice(0, at) }];
  });
};

/** The `first` turn of a token sequence shows the whole chat. In a later one the last message alone is new. */
const turnRecord = ({ chat, turn }: ShownTurn, first: boolean): TurnRecord => {
  const { actions, call, executed, info, parsed, penalties, penalty, reward } = turn;
  const charged = penalties === undefined ? { penalty } : { penalty, penalties };
  const result = { parsed, actions, executed, reward, ...charged, info, ...(call === undefined ? {} : { call }) };
  return { ...repliedOf(turn, first ? chat : chat.slice(-1)), ...result };
};

/** The state that a turn showed; where it was not recorded, the message with it. */
const stateOf = ({ chat, turn: { state } }: ShownTurn): string => (state === "" ? (chat.at(-1)?.content ?? "") : state);

const summaryRecord = (summary: EvaluatedSummary, system: readonly SentMessage[]): TurnRecord => ({
  ...repliedOf(summary, [...system, { role: "user", content: summary.asked }]),
  parsed: true,
  actions: [],
  executed: 0,
  reward: 0,
  penalty: 0,
  info: {},
});

const bodyOf = (
  sequence: EvaluatedSequence,
  shownTurns: ReadonlyMap<EvaluatedTurn, ShownTurn>,
  system: readonly SentMessage[],
): Pick<EpisodeRecord, "messages" | "turns" | "summary"> => {
  if (sequence._tag === "Summary") {
    const { asked, text } = sequence.summary;
    const messages = [{ role: "user", content: asked } as const, { role: "assistant", content: text } as const];
    return { summary: true, messages, turns: [summaryRecord(sequence.summary, system)] };
  }
  const turns = sequence.turns.flatMap((turn) => shownTurns.get(turn) ?? []);
  return {
    messages: turns.flatMap((each) => [
      { role: "user" as const, content: stateOf(each) },
      { role: "assistant" as const, content: each.reply },
    ]),
    turns: turns.map((each, at) => turnRecord(each, at === 0)),
  };
};

/** A record for each token sequence of the episode, in order. */
export const recordsOf = (episode: EvaluatedEpisode): readonly EpisodeRecord[] => {
  const { final, group, member, messages, outcome, seed, tag, turns } = episode;
  const shownTurns = new Map(shownTurnsOf(episode).map((each) => [each.turn, each]));
  const system = messages.filter(({ role }) => role === "system");
  const sequences = sequencesOf(episode);
  return sequences.map((sequence, index) => ({
    schema: SCHEMA,
    step: 0,
    split: "val",
    group,
    member,
    sequence: index,
    tag,
    seed,
    success: outcome.success,
    reward: rewardOf(episode),
    penalty: penaltyOf(episode),
    outcome,
    ...bodyOf(sequence, shownTurns, system),
    ...(turns.length === 0 || index < sequences.length - 1 ? {} : { final }),
  }));
};
