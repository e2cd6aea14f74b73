/**
 * Gathers a run's part of a report from its folder, through the page's store. Invariant: every part is bounded, whatever the
 * run's size, and redacted.
 */
import type { EpisodeRecord } from "../../../domain/EpisodeRecord.ts";
import { readRecord } from "../../record/readRecord.ts";
import type { AlarmView, Curves, EpisodeCard } from "../Api.ts";
import type { ChosenGroup, ReportRun } from "../page/report/ReportData.ts";
import { scenesOf } from "../scenes.ts";
import type { RunStore } from "../store/RunStore.ts";
import { type ChosenEpisode, chooseEpisodes, isSameGroup } from "./chooseEpisodes.ts";
import { decompositionsOf, normNames } from "./decompositions.ts";
import { drawnMetrics, drawnWhereNonZero } from "./mainMetrics.ts";
import type { Redactor } from "./Redactor.ts";

/** The largest number of each part of a run. */
export const limits = {
  /** Buckets of a curve. */
  points: 300,
  windows: 200,
  /** Steps whose gradient norms are drawn. */
  analysed: 6,
  marks: 300,
  configCharacters: 256 * 1024,
  /** Characters of the records of one group, and of all groups of a run. */
  groupCharacters: 1_500_000,
  episodeCharacters: 6_000_000,
  /** Groups that are searched for a reply that could not be parsed. */
  searchedGroups: 60,
} as const;

const everything = {
  from: 0,
  to: Number.POSITIVE_INFINITY,
  split: null,
  tag: null,
  success: null,
  verdict: null,
} as const;

const recordsOf = async (store: RunStore, { group, split, step }: EpisodeCard): Promise<readonly EpisodeRecord[]> =>
  (await store.group(split, step, group)).flatMap((text) => readRecord(text) ?? []);

/** The newest training episode with a reply that could not be parsed. */
const newestUnparsed = async (store: RunStore, cards: readonly EpisodeCard[]): Promise<ChosenEpisode | null> => {
  const groups = cards.filter(
    (card, at) => card.split === "train" && !isSameGroup(card, cards[at - 1] ?? { ...card, group: -1 }),
  );
  for (const card of groups.slice(0, limits.searchedGroups)) {
    const records = await recordsOf(store, card);
    const found = records.find(({ turns }) => turns.some(({ parsed }) => !parsed));
    const its = cards.find((one) => isSameGroup(one, card) && one.member === found?.member);
    if (found !== undefined && its !== undefined) return { card: its, why: ["last reply that could not be read"] };
  }
  return null;
};

const withChoice = (choices: readonly ChosenEpisode[], more: ChosenEpisode | null): readonly ChosenEpisode[] => {
  if (more === null) return choices;
  const existing = choices.find(({ card }) => isSameGroup(card, more.card));
  if (existing === undefined) return [...choices, more];
  return choices.map((choice) => (choice === existing ? { ...choice, why: [...choice.why, ...more.why] } : choice));
};

/** As many episodes as fit, the chosen one first. An episode has all its token sequences or none. */
const fitting = (records: readonly EpisodeRecord[], chosen: number, room: number) => {
  const members = [...new Set(records.map(({ member }) => member))].toSorted(
    (a, b) => Number(b === chosen) - Number(a === chosen) || a - b,
  );
  const shown: EpisodeRecord[] = [];
  let size = 0;
  let count = 0;
  for (const member of members) {
    const its = records.filter((record) => record.member === member);
    const more = JSON.stringify(its).length;
    if (size + more > room) break;
    shown.push(...its);
    size += more;
    count++;
  }
  return { shown, size, leftOut: members.length - count };
};

/** All texts in a value of JSON, the names of its fields included. */
const textsIn = (value: unknown): readonly string[] => {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  const names = Array.isArray(value) ? [] : Object.keys(value);
  return [...names, ...Object.values(value).flatMap(textsIn)];
};

const isRecordSensitive = ({ isSensitive }: Redactor, { final, messages, outcome, turns }: EpisodeRecord): boolean =>
  messages.some(({ content }) => isSensitive(content)) ||
  turns.some(
    ({ actions, call, pieces }) =>
      isSensitive((pieces ?? []).join("")) || actions.some(isSensitive) || textsIn(call).some(isSensitive),
  ) ||
  (final !== undefined && isSensitive(final)) ||
  (outcome._tag === "Failed" && isSensitive(outcome.message));

const groupsOf = async (store: RunStore, redactor: Redactor, choices: readonly ChosenEpisode[]) => {
  const groups: ChosenGroup[] = [];
  let room: number = limits.episodeCharacters;
  for (const { card, why } of choices) {
    const records = await recordsOf(store, card);
    if (records.some((record) => isRecordSensitive(redactor, record))) continue;
    const { leftOut, shown, size } = fitting(records, card.member, Math.min(room, limits.groupCharacters));
    if (shown.length === 0) continue;
    groups.push({ card, why, records: shown, leftOut });
    room -= size;
  }
  return groups;
};

const withoutZeros = (curves: Curves): Curves => ({
  ...curves,
  series: curves.series.filter(
    ({ max, name }) => !drawnWhereNonZero.includes(name) || max.some((value) => (value ?? 0) > 0),
  ),
});

const redactAlarm = (alarm: AlarmView, redact: (text: string) => string): AlarmView => ({
  ...alarm,
  sentences: alarm.sentences.map(redact),
});

/** The report of one run. */
export const gatherRun = async (store: RunStore, redactor: Redactor): Promise<ReportRun> => {
  await store.ready;
  const card = await store.card();
  const all = await store.names();
  const names = drawnMetrics(all);
  const config = await store.config();
  const { episodes, total } = await store.episodes({ ...everything, offset: 0, limit: Number.POSITIVE_INFINITY });
  const choices = withChoice(chooseEpisodes(episodes), await newestUnparsed(store, episodes));
  const groups = await groupsOf(store, redactor, choices);
  const { marks } = await store.timeline(2);
  const line = await store.line(null);
  const { folder: _, ...summary } = await store.summary();
  const redact = (text: string): string => redactor.redact(text);
  return {
    card: {
      ...card,
      id: redact(card.id),
      message: card.message === null ? null : redact(card.message),
      controllable: false,
    },
    summary,
    config: config === null ? null : redactor.redactConfig(config.slice(0, limits.configCharacters)),
    curves: withoutZeros(await store.curves(names, 0, Number.POSITIVE_INFINITY, limits.points)),
    gradients: decompositionsOf(
      await store.curves(normNames(all), 0, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY),
      limits.analysed,
    ),
    windows: await store.windows(0, Number.POSITIVE_INFINITY, limits.windows),
    marks: marks.slice(-limits.marks).map((mark) => ({ ...mark, text: redact(mark.text) })),
    line:
      line?.alarms === undefined ? line : { ...line, alarms: line.alarms.map((alarm) => redactAlarm(alarm, redact)) },
    scenes: scenesOf(config ?? ""),
    groups,
    counts: {
      episodes: total,
      marksLeftOut: Math.max(0, marks.length - limits.marks),
      groupsLeftOut: choices.length - groups.length,
    },
  };
};
