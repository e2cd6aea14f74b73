/** Episodes of an agent that a chat endpoint answered, as episodes of an evaluation: with the endpoint's counts, and what each call was shown. */
import { type Episode, type Turn, turnsOf } from "../../domain/Episode.ts";
import { agentEpisodeOf } from "./chats.ts";
import type { EvaluatedEpisode, EvaluatedTurn, Message, Replied } from "./EvaluatedEpisode.ts";
import { isNotPlayed, type NotPlayed } from "./NotPlayed.ts";

/** Facts that an endpoint tells about a reply besides its text. */
type Counts = Omit<Replied, "sequence">;

/** The messages that a turn showed: those of the calls that it goes on from, and its own. */
const shownTo = (turn: Turn, byNumber: ReadonlyMap<number, Turn>): readonly Message[] => {
  const messages: Message[] = [];
  for (let at: Turn | undefined = turn; at !== undefined; at = byNumber.get(at.call?.parent ?? -1)) {
    messages.unshift({ role: "user", content: at.state }, { role: "assistant", content: at.reply });
  }
  return messages.slice(0, -1);
};

/** A finished episode with the counts that `countsOf` gives; a failed one is not played. */
export const endpointEpisodeOf = (
  episode: Episode,
  countsOf: (turn: Turn) => Counts | null,
): EvaluatedEpisode | NotPlayed => {
  const evaluated = agentEpisodeOf(episode);
  if (isNotPlayed(evaluated)) return evaluated;
  const turns = turnsOf(episode);
  const byNumber = new Map(
    turns.flatMap((turn) => (turn.call === undefined ? [] : [[turn.call.number, turn] as const])),
  );
  const withCounts = (evaluatedTurn: EvaluatedTurn, at: number): EvaluatedTurn => {
    const turn = turns[at];
    if (turn === undefined) return evaluatedTurn;
    const shown = shownTo(turn, byNumber);
    // A call that goes on from all turns before it was shown the chat of the episode.
    const isWhole = shown.length === 2 * at + 1;
    return { ...evaluatedTurn, ...countsOf(turn), ...(isWhole ? {} : { shown }) };
  };
  return { ...evaluated, turns: evaluated.turns.map(withCounts) };
};
