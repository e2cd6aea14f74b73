/**
 * Episodes of a checkpoint as episodes of an evaluation. The chat is written out again as texts, which gives the same chat since the
 * template is pure. The ids remain the record of what the model saw; the texts are for people and for other tools.
 */
import { type Episode, entropyOf, type Turn, turnsOf } from "../../domain/Episode.ts";
import type { Group } from "../../domain/Group.ts";
import type { View } from "../../env/contract/Environments.ts";
import type { Task } from "../../rollout/Task.ts";
import type { Template } from "../../rollout/Template.ts";
import type { EvaluatedEpisode, EvaluatedTurn, Message, Replied } from "./EvaluatedEpisode.ts";
import { type NotPlayed, notPlayed } from "./NotPlayed.ts";

/** The first prompt of a group's members. */
export interface Opening {
  readonly template: Template;
  readonly task: Task;
  readonly view: View;
}

/** The view that a turn showed: templates read its texts and its actions. */
const shownView = ({ view }: Opening, turn: Turn): View => ({ ...view, observation: turn.state, compact: turn.state });

/** The chat of a task with tools, whose turns show what the record has. */
const toolChat = (turns: readonly Turn[]): readonly Message[] =>
  turns.flatMap(({ reply, state }): readonly Message[] => [
    { role: "user", content: state },
    { role: "assistant", content: reply },
  ]);

const chatOf = (opening: Opening, turns: readonly Turn[]): readonly Message[] => {
  const { task, template, view } = opening;
  const { system, user } = template.opening(task, { view, turn: 1, actionsLeft: task.maxActions });
  const systemMessages: readonly Message[] = system === "" ? [] : [{ role: "system", content: system }];
  if (task.tools !== undefined) return [...systemMessages, ...toolChat(turns)];
  const messages: Message[] = [...systemMessages, { role: "user", content: user }];
  let actionsLeft = task.maxActions;
  for (const [index, turn] of turns.entries()) {
    const before = turns[index - 1];
    if (before !== undefined) {
      const { actions, executed, reward } = before;
      actionsLeft -= executed;
      const moment = { view: shownView(opening, turn), turn: index + 1, actionsLeft };
      const content = template.next(task, moment, { reward, executed, invalid: actions.length === 0 });
      messages.push({ role: "user", content });
    }
    messages.push({ role: "assistant", content: turn.reply });
  }
  return messages;
};

/** `before`: tokens of the chat before the turn's own prompt. */
const repliedOf = ({ prompt, sampled }: Turn, before: number, sequence: number): Replied => {
  const entropy = sampled.ids.length === 0 ? null : entropyOf(sampled);
  return {
    finish: sampled.finish,
    promptTokens: before + prompt.length,
    tokens: sampled.ids.length,
    entropy: Number.isFinite(entropy) ? entropy : null,
    sequence,
  };
};

const turnOf = (turn: Turn, replied: Replied): EvaluatedTurn => {
  const { actions, call, executed, info, parsed, penalties, penalty, reward, state } = turn;
  const charged = penalties === undefined ? { penalty } : { penalty, penalties };
  const rest = call === undefined ? replied : { ...replied, call };
  return { actions, executed, reward, ...charged, parsed, info, state, ...rest };
};

/** Each reply of an episode with its turn: of the sequences that play, or of the summaries. */
const repliesIn = (episode: Episode, summaries: boolean): readonly (readonly [Turn, Replied])[] =>
  episode.sequences.flatMap(({ summary, turns }, sequence) => {
    if ((summary !== undefined) !== summaries) return [];
    let length = 0;
    return turns.map((turn) => {
      const replied = repliedOf(turn, length, sequence);
      length += turn.prompt.length + turn.sampled.ids.length;
      return [turn, replied] as const;
    });
  });

/** The texts of an episode that its turns lack. */
type EpisodeTexts = Pick<EvaluatedEpisode, "messages" | "contentKey" | "final">;

const openedTexts = (opening: Opening, episode: Episode): EpisodeTexts => ({
  messages: chatOf(opening, turnsOf(episode)),
  contentKey: opening.view.contentKey,
  final: episode.final ?? opening.template.state(opening.view),
});

/** The calls of an agent as a chat: what each call added, and its reply. A task is known by its seed. */
const agentTexts = (episode: Episode): EpisodeTexts => ({
  messages: turnsOf(episode).flatMap(({ reply, state }): readonly Message[] => [
    { role: "user", content: state },
    { role: "assistant", content: reply },
  ]),
  contentKey: `${episode.tag} ${episode.seed}`,
  final: "",
});

const evaluated = (episode: Episode, textsOf: () => EpisodeTexts): EvaluatedEpisode | NotPlayed => {
  const { id, outcome, seed, tag } = episode;
  const key = { group: id.group, tag, seed, member: id.member };
  if (outcome._tag === "Failed") return notPlayed(key, outcome.reason, outcome.message);
  const turns = repliesIn(episode, false).map(([turn, replied]) => turnOf(turn, replied));
  const written = repliesIn(episode, true);
  const summaries = written.map(([{ reply, state }, replied]) => ({ asked: state, text: reply, ...replied }));
  return { ...key, ...textsOf(), outcome, turns, summaries };
};

/** The episodes of a group; `opening` is null where its instance could not be reset. */
export const episodesOf = (group: Group, opening: Opening | null): readonly (EvaluatedEpisode | NotPlayed)[] =>
  group.episodes.map((episode) => {
    if (opening !== null) return evaluated(episode, () => openedTexts(opening, episode));
    const { id, outcome, seed, tag } = episode;
    const message = outcome._tag === "Failed" ? outcome.message : "its instance was not reset";
    return notPlayed({ group: id.group, tag, seed, member: id.member }, "reset", message);
  });

/** An episode that an agent played. */
export const agentEpisodeOf = (episode: Episode): EvaluatedEpisode | NotPlayed =>
  evaluated(episode, () => agentTexts(episode));

/** The episodes of a group that an agent played. */
export const agentEpisodesOf = (group: Group): readonly (EvaluatedEpisode | NotPlayed)[] =>
  group.episodes.map(agentEpisodeOf);
