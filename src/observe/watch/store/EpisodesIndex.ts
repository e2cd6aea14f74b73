/**
 * The recorded episodes of a run and their places in trajectories.jsonl, from trajectories.index.jsonl. Records that the index
 * lacks, as after a kill, are read themselves. Invariant: each record is here once, in the order of the file. Memory: about 300
 * bytes for each token sequence.
 */

import { type EpisodeRecord, readableSchemas } from "../../../domain/EpisodeRecord.ts";
import { type EpisodeIndexLine, episodeIndexLine } from "../../record/Trajectories.ts";
import type { EpisodeCard, EpisodePage } from "../Api.ts";

export interface EpisodeQuery {
  readonly from: number;
  readonly to: number;
  readonly split: string | null;
  readonly tag: string | null;
  readonly success: boolean | null;
  readonly verdict: string | null;
  readonly offset: number;
  readonly limit: number;
}

/** An episode. Its token sequences arrive one after the other and are added up. */
interface ListedEpisode {
  card: EpisodeCard;
}

const episodeKey = ({
  group,
  member,
  split,
  step,
}: Pick<EpisodeIndexLine, "group" | "member" | "split" | "step">): string => `${split}/${step}/${group}/${member}`;

const groupKey = (split: string, step: number, group: number): string => `${split}/${step}/${group}`;

const isIndexLine = (value: unknown): value is EpisodeIndexLine => {
  if (typeof value !== "object" || value === null) return false;
  const { group, length, member, offset, outcome, seed, sequence, split, step, tag } =
    value as Partial<EpisodeIndexLine>;
  const numbers = [step, group, member, sequence, seed, offset, length];
  const whole = numbers.every((number) => Number.isSafeInteger(number) && Number(number) >= 0);
  return whole && (split === "train" || split === "val") && typeof tag === "string" && typeof outcome === "string";
};

const isEpisode = (value: unknown): value is EpisodeRecord =>
  typeof value === "object" &&
  value !== null &&
  "schema" in value &&
  readableSchemas.includes(value.schema) &&
  "turns" in value &&
  Array.isArray(value.turns) &&
  "outcome" in value;

const jsonOrNull = (line: Buffer): unknown => {
  try {
    return JSON.parse(line.toString("utf8"));
  } catch {
    return null;
  }
};

const cardOf = (place: EpisodeIndexLine): EpisodeCard => {
  const { group, member, outcome, reward, seed, split, step, success, tag, tokens, turns, verdict } = place;
  return { step, split, group, member, tag, seed, success, reward, verdict, turns, tokens, outcome };
};

export class EpisodesIndex {
  /** Episodes in the order of the file. */
  readonly #listed: ListedEpisode[] = [];
  readonly #byEpisode = new Map<string, ListedEpisode>();
  readonly #byGroup = new Map<string, EpisodeIndexLine[]>();
  #lastStep: number | null = null;
  #end = 0;

  /** Offset behind the last known record. */
  get end(): number {
    return this.#end;
  }

  /** The newest step with an episode; null if there is none. */
  lastStep(): number | null {
    return this.#lastStep;
  }

  /** Adds a line of trajectories.index.jsonl. */
  addIndexLine(line: Buffer): void {
    const value = jsonOrNull(line);
    if (isIndexLine(value)) this.#add(value);
  }

  /** Adds a record itself, behind those that the index names. */
  addRecord(line: Buffer, offset: number): void {
    const value = jsonOrNull(line);
    if (!isEpisode(value)) return;
    try {
      const place = episodeIndexLine(value, offset, line.length + 1);
      if (isIndexLine(place)) this.#add(place);
    } catch {
      // The line only looks like a record.
    }
  }

  /** The matching episodes, newest first. */
  page(query: EpisodeQuery): EpisodePage {
    const cards: EpisodeCard[] = [];
    let total = 0;
    for (let i = this.#listed.length - 1; i >= 0; i--) {
      const card = this.#listed[i]?.card;
      if (card === undefined || !matches(card, query)) continue;
      if (total >= query.offset && cards.length < query.limit) cards.push(card);
      total++;
    }
    return { total, episodes: cards };
  }

  /** The places of a group's records: by member, then by sequence. */
  group(split: string, step: number, group: number): readonly EpisodeIndexLine[] {
    const places = this.#byGroup.get(groupKey(split, step, group)) ?? [];
    return places.toSorted((a, b) => a.member - b.member || a.sequence - b.sequence);
  }

  #add(place: EpisodeIndexLine): void {
    if (place.offset < this.#end) return;
    this.#end = place.offset + place.length;
    this.#lastStep = place.step;
    const key = episodeKey(place);
    const existing = this.#byEpisode.get(key);
    if (existing === undefined) {
      const episode = { card: cardOf(place) };
      this.#byEpisode.set(key, episode);
      this.#listed.push(episode);
    } else {
      const { tokens, turns } = existing.card;
      existing.card = { ...existing.card, turns: turns + place.turns, tokens: tokens + place.tokens };
    }
    const group = groupKey(place.split, place.step, place.group);
    const siblings = this.#byGroup.get(group);
    if (siblings === undefined) this.#byGroup.set(group, [place]);
    else siblings.push(place);
  }
}

const matches = (card: EpisodeCard, { from, split, success, tag, to, verdict }: EpisodeQuery): boolean =>
  card.step >= from &&
  card.step <= to &&
  (split === null || card.split === split) &&
  (tag === null || card.tag === tag) &&
  (success === null || card.success === success) &&
  (verdict === null || card.verdict === verdict);
