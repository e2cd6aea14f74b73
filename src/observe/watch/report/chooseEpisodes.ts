/** Chooses the episodes of a run that a report shows: the first and last of each kind of interest, and the longest. Pure. */
import type { EpisodeCard } from "../Api.ts";

export interface ChosenEpisode {
  readonly card: EpisodeCard;
  readonly why: readonly string[];
}

interface ChoiceRule {
  readonly why: string;
  /** Finds the episode among the cards, which are sorted oldest first. */
  readonly find: (cards: readonly EpisodeCard[]) => EpisodeCard | undefined;
}

type Kind = (card: EpisodeCard) => boolean;

const validation =
  (success: boolean): Kind =>
  (card) =>
    card.split === "val" && card.success === success;
const judged =
  (...verdicts: readonly EpisodeCard["verdict"][]): Kind =>
  (card) =>
    card.split === "train" && verdicts.includes(card.verdict);

const first = (why: string, kind: Kind): ChoiceRule => ({ why, find: (cards) => cards.find(kind) });
const last = (why: string, kind: Kind): ChoiceRule => ({ why, find: (cards) => cards.findLast(kind) });
const longest = (why: string, kind: Kind): ChoiceRule => ({
  why,
  find: (cards) =>
    cards
      .filter(kind)
      .reduce<EpisodeCard | undefined>((most, card) => (card.tokens > (most?.tokens ?? 0) ? card : most), undefined),
});

/** The rules by priority: if space is short, the choices of the first rules stay. */
const rules: readonly ChoiceRule[] = [
  last("last validation success", validation(true)),
  last("last validation failure", validation(false)),
  first("first validation success", validation(true)),
  first("first validation failure", validation(false)),
  last("last group trained on", judged("kept")),
  last("last group left out", judged("zero", "rule", "surplus")),
  first("first group trained on", judged("kept")),
  first("first group left out", judged("zero", "rule", "surplus")),
  last("last failed group", judged("failed")),
  longest("longest of training", ({ split }) => split === "train"),
  longest("longest of validation", ({ split }) => split === "val"),
];

export const isSameGroup = (a: EpisodeCard, b: EpisodeCard): boolean =>
  a.split === b.split && a.step === b.step && a.group === b.group;

/** One choice for each group, by priority. `newestFirst` are all episodes of the run. */
export const chooseEpisodes = (newestFirst: readonly EpisodeCard[]): readonly ChosenEpisode[] => {
  const cards = newestFirst.toReversed();
  const choices: ChosenEpisode[] = [];
  for (const { find, why } of rules) {
    const card = find(cards);
    if (card === undefined) continue;
    const index = choices.findIndex((choice) => isSameGroup(choice.card, card));
    if (index < 0) choices.push({ card, why: [why] });
    else choices[index] = { card: choices[index]!.card, why: [...choices[index]!.why, why] };
  }
  return choices;
};
