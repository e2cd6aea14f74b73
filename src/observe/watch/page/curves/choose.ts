/**
 * Chooses the metrics that are drawn: their entries in the catalogue, the default choice, and the search among a run's names.
 */
import type { MetricCard } from "../../Api.ts";

/** The metrics that summarise a run best. */
const first: readonly string[] = [
  "val-env/success",
  "train/success",
  "train/charts/avg_episode_return",
  "rollout/filter_kept_ratio",
  "actor/pg_loss",
  "actor/entropy",
  "mismatch/kl",
  "actor/grad_norm",
  "staleness/mean",
  "tokens/generated_per_second",
];

/**
 * True if a metric's curve may be smoothed. A validation is one of few measurements, each over many episodes, so it is drawn as
 * it is.
 */
export const isSmoothed = (name: string): boolean => !name.startsWith("val-env/");

/** The names drawn: the reader's own choice where the run has any of it. */
export const drawnNames = (chosen: readonly string[] | null, names: readonly string[]): readonly string[] => {
  const available = new Set(names);
  const ownChoice = chosen?.filter((name) => available.has(name)) ?? [];
  if (ownChoice.length > 0 || chosen?.length === 0) return ownChoice;
  const usual = first.filter((name) => available.has(name));
  return usual.length > 0 ? usual : names.slice(0, 6);
};

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const literal = (template: string): number => template.replace(/\{\w+\}/g, "").length;

/** Finds the card of a name; the template that says more of the name counts. */
export const cardsBy = (cards: readonly MetricCard[]): ((name: string) => MetricCard | null) => {
  const exact = new Map(cards.map((card) => [card.name, card]));
  const templates = cards
    .filter(({ name }) => name.includes("{"))
    .map((card) => ({ card, pattern: new RegExp(`^${escaped(card.name).replace(/\\\{\w+\\\}/g, "[^/]+")}$`) }))
    .sort((a, b) => literal(b.card.name) - literal(a.card.name));
  return (name) => exact.get(name) ?? templates.find(({ pattern }) => pattern.test(name))?.card ?? null;
};

export interface MetricGroup {
  readonly section: string;
  readonly names: readonly string[];
}

export const OTHER = "Other";

/** Names by section, in the catalogue's order; every word of the search occurs in the name, its section or its meaning. */
export const groupBySection = (
  names: readonly string[],
  cards: readonly MetricCard[],
  search: string,
): readonly MetricGroup[] => {
  const cardOf = cardsBy(cards);
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const hits = names.filter((name) => {
    const card = cardOf(name);
    const text = `${name} ${card?.section ?? ""} ${card?.meaning ?? ""}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const sections = [...new Set(cards.map(({ section }) => section)), OTHER];
  const bySection = Map.groupBy(hits, (name) => cardOf(name)?.section ?? OTHER);
  return sections.flatMap((section) => {
    const names = bySection.get(section);
    return names === undefined ? [] : [{ section, names }];
  });
};

/** Unit and meaning in one line. */
export const sayingOf = (card: MetricCard | null): string =>
  card === null ? "Not in the catalogue." : `${card.meaning}${card.unit === "1" ? "" : ` In ${card.unit}.`}`;
