/**
 * The progress of the next step's window, as a value that records, samples and events update. Pure: time is that of the samples.
 * Invariant: turns, tokens and time are counted from the first sample after the last step, so that a quick window costs nothing.
 */
import { HashMap } from "effect";
import type { Event, Validating } from "../../domain/Event.ts";
import * as GroupPlaces from "../../domain/GroupPlaces.ts";
import type { Sample } from "../../flow/Bus.ts";
import { count, duration } from "./format.ts";
import type { RunInfo, Update } from "./Sink.ts";

/** Totals since the run started, at one sample. */
interface Totals {
  readonly elapsedMs: number;
  /** Replies that the `generate` stage gave, those of episodes that still run too. */
  readonly turns: number;
  /** Sampled tokens of groups that have ended. */
  readonly tokens: number;
  /** Ended episodes of the window that was being played. */
  readonly episodes: number;
}

export interface WindowProgress {
  readonly window: RunInfo["window"];
  /** Steps done; also the index of the window that is played. */
  readonly step: number;
  /** Groups admitted whose step is not closed, by id. */
  readonly groups: GroupPlaces.GroupPlaces;
  /** The first sample after the last step; null until there is one. */
  readonly first: Totals | null;
  readonly latest: Totals | null;
  /** The window at the learner; null before the first one. */
  readonly learning: number | null;
  /** The validation that is played; null while there is none. */
  readonly validating: Validating | null;
}

export const initial = ({ from, window }: Pick<RunInfo, "from" | "window">): WindowProgress => ({
  window,
  step: from,
  groups: GroupPlaces.empty,
  first: null,
  latest: null,
  learning: null,
  validating: null,
});

export const update = (progress: WindowProgress, next: Update): WindowProgress => {
  switch (next._tag) {
    case "Step":
      return { ...progress, step: next.record.step, first: null, latest: null, validating: null };
    case "Sample": {
      const latest = totalsOf(progress, next.sample);
      return { ...progress, first: progress.first ?? latest, latest };
    }
    case "Event":
      return afterEvent(progress, next.event);
    case "Close":
      return progress;
  }
};

const afterEvent = (progress: WindowProgress, event: Event): WindowProgress => {
  const groups = GroupPlaces.observe(progress.groups, event, progress.latest?.elapsedMs ?? 0);
  switch (event._tag) {
    case "Learning":
      return { ...progress, groups, learning: event.window };
    case "Validating":
      return { ...progress, groups, validating: event };
    case "Validated":
      return { ...progress, groups, validating: null };
    default:
      return { ...progress, groups };
  }
};

const totalsOf = (progress: WindowProgress, { elapsedMs, stages, tokens }: Sample): Totals => ({
  elapsedMs,
  turns: stages.find(({ name }) => name === "generate")?.items ?? 0,
  tokens: tokens.generated,
  episodes: episodesOf(progress).ended,
});

/** Episodes of the window, including those of its refills. Under completion order it takes the groups that end first. */
const episodesOf = ({ groups, step, window }: WindowProgress): { readonly ended: number; readonly all: number } => {
  const inFlight = [...HashMap.values(groups)];
  const candidates = window.order === "admission" ? inFlight.filter((group) => group.window === step) : inFlight;
  const all = window.groups + inFlight.filter(({ refillOf }) => refillOf === step).length;
  const ended = candidates.filter(({ place }) => place !== "rollout").length;
  return { ended: Math.min(ended, all) * window.groupSize, all: all * window.groupSize };
};

/** Milliseconds that the window has lasted; 0 before its first sample. */
export const windowMs = ({ first, latest }: WindowProgress): number =>
  first === null || latest === null ? 0 : latest.elapsedMs - first.elapsedMs;

/**
 * Milliseconds until all episodes have ended, at the pace since the last step; null if none has ended since, or all have.
 */
const leftMs = (progress: WindowProgress): number | null => {
  const { all, ended } = episodesOf(progress);
  const endedSince = ended - (progress.first?.episodes ?? 0);
  return endedSince <= 0 || ended >= all ? null : (windowMs(progress) / endedSince) * (all - ended);
};

/** `412 of 1024 episodes, 1.90k turns, 61.0k tokens, 2m10s so far, about 3m13s left`; unknown parts are left out. */
export const progressText = (progress: WindowProgress): string => {
  const { first, latest, learning, step, validating } = progress;
  const soFar = `${duration(windowMs(progress))} so far`;
  if (validating !== null) return `validation, ${validating.done} of ${validating.of} groups, ${soFar}`;
  const { all, ended } = episodesOf(progress);
  const turns = (latest?.turns ?? 0) - (first?.turns ?? 0);
  const tokens = (latest?.tokens ?? 0) - (first?.tokens ?? 0);
  const left = leftMs(progress);
  return [
    `${ended} of ${all} episodes`,
    ...(turns > 0 ? [`${count(turns)} turns`] : []),
    ...(tokens > 0 ? [`${count(tokens)} tokens`] : []),
    soFar,
    ...(left === null ? [] : [`about ${duration(left)} left`]),
    ...(learning === step ? ["training"] : []),
  ].join(", ");
};

/** The step that the window makes, or whose validation is played. */
export const stepOf = ({ step, validating }: WindowProgress): number => validating?.step ?? step + 1;
