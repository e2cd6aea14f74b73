/**
 * Which episodes a run recorded, and where in trajectories.jsonl. It comes from trajectories.index.jsonl; records behind the last one named
 * there are read themselves, as after a kill. Invariant: each record is here once, in the order of the file. Memory: about 300 bytes for
 * each token sequence.
 */

import { type EpisodeRecord, SCHEMA } from "../../../domain/EpisodeRecord.ts";
import { type IndexLine, indexLine } from "../../record/Trajectories.ts";
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

/** An episode; its token sequences come one after the other. */
interface Entry {
  card: EpisodeCard;
}

const keyOf = ({ group, member, split, step }: Pick<IndexLine, "group" | "member" | "split" | "step">): string =>
  `${split}/${step}/${group}/${member}`;

const groupOf = (split: string, step: number, group: number): string => `${split}/${step}/${group}`;

const isPlace = (value: unknown): value is IndexLine => {
  if (typeof value !== "object" || value === null) return false;
  const { group, length, member, offset, outcome, seed, sequence, split, step, tag } = value as Partial<IndexLine>;
  const numbers = [step, group, member, sequence, seed, offset, length];
  const whole = numbers.every((number) => Number.isSafeInteger(number) && Number(number) >= 0);
  return whole && (split === "train" || split === "val") && typeof tag === "string" && typeof outcome === "string";
};

const isEpisode = (value: unknown): value is EpisodeRecord =>
  typeof value === "object" &&
  value !== null &&
  "schema" in value &&
  value.schema === SCHEMA &&
  "turns" in value &&
  Array.isArray(value.turns) &&
  "outcome" in value;

const parsed = (line: Buffer): unknown => {
  try {
    return JSON.parse(line.toString("utf8"));
  } catch {
    return null;
  }
};

const cardOf = (place: IndexLine): EpisodeCard => {
  const { group, member, outcome, reward, seed, split, step, success, tag, tokens, turns, verdict } = place;
  return { step, split, group, member, tag, seed, success, reward, verdict, turns, tokens, outcome };
};

export class EpisodesIndex {
  /** In the order of the file. */
  readonly #entries: Entry[] = [];
  readonly #byEpisode = new Map<string, Entry>();
  readonly #byGroup = new Map<string, IndexLine[]>();
  #lastStep: number | null = null;
  #end = 0;

  /** Offset behind the last record that is known. */
  get end(): number {
    return this.#end;
  }

  /** The newest step with an episode; null where there is none. */
  lastStep(): number | null {
    return this.#lastStep;
  }

  /** A line of trajectories.index.jsonl. */
  indexed(line: Buffer): void {
    const value = parsed(line);
    if (isPlace(value)) this.#add(value);
  }

  /** A record itself, behind those that the index names. */
  recorded(line: Buffer, offset: number): void {
    const value = parsed(line);
    if (!isEpisode(value)) return;
    try {
      const place = indexLine(value, offset, line.length + 1);
      if (isPlace(place)) this.#add(place);
    } catch {
      // A line that only looks like a record.
    }
  }

  /** Newest first. */
  page(query: EpisodeQuery): EpisodePage {
    const found: EpisodeCard[] = [];
    let total = 0;
    for (let i = this.#entries.length - 1; i >= 0; i--) {
      const card = this.#entries[i]?.card;
      if (card === undefined || !fits(card, query)) continue;
      if (total >= query.offset && found.length < query.limit) found.push(card);
      total++;
    }
    return { total, episodes: found };
  }

  /** Where the records of a group lie: by member, then by sequence. */
  group(split: string, step: number, group: number): readonly IndexLine[] {
    const places = this.#byGroup.get(groupOf(split, step, group)) ?? [];
    return places.toSorted((a, b) => a.member - b.member || a.sequence - b.sequence);
  }

  #add(place: IndexLine): void {
    if (place.offset < this.#end) return;
    this.#end = place.offset + place.length;
    this.#lastStep = place.step;
    const key = keyOf(place);
    const known = this.#byEpisode.get(key);
    if (known === undefined) {
      const entry = { card: cardOf(place) };
      this.#byEpisode.set(key, entry);
      this.#entries.push(entry);
    } else {
      const { tokens, turns } = known.card;
      known.card = { ...known.card, turns: turns + place.turns, tokens: tokens + place.tokens };
    }
    const group = groupOf(place.split, place.step, place.group);
    const siblings = this.#byGroup.get(group);
    if (siblings === undefined) this.#byGroup.set(group, [place]);
    else siblings.push(place);
  }
}

const fits = (card: EpisodeCard, { from, split, success, tag, to, verdict }: EpisodeQuery): boolean =>
  card.step >= from &&
  card.step <= to &&
  (split === null || card.split === split) &&
  (tag === null || card.tag === tag) &&
  (success === null || card.success === success) &&
  (verdict === null || card.verdict === verdict);
