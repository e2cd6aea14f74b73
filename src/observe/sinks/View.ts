/**
 * The contents of a console as a value: the newest figures, short histories and notices. One record, sample or event at a time
 * updates it. Pure: the same updates give the same view.
 */
import { type Alarm, standingAfter } from "../../domain/alarms/Alarms.ts";
import { textOf } from "../../domain/alarms/text.ts";
import { isEarly } from "../../domain/EarlyStops.ts";
import type { Event, RepliesReused, Stopped, Validated } from "../../domain/Event.ts";
import { endings, episodes, type Split } from "../../domain/metrics/episodes.ts";
import { type Metrics, mergeMetrics, valueIn } from "../../domain/metrics/Metrics.ts";
import { tokens } from "../../domain/metrics/run.ts";
import type { Drawing, Regime } from "../../domain/Regime.ts";
import type { RunOutcome } from "../../domain/RunOutcome.ts";
import type { ServerChange } from "../../domain/Server.ts";
import { type Sample, tokenRates } from "../../flow/Bus.ts";
import { duration, percent } from "./format.ts";
import type { RunInfo, Update } from "./Sink.ts";
import * as WindowProgress from "./WindowProgress.ts";

export interface View {
  readonly run: RunInfo;
  readonly step: number;
  readonly metrics: Metrics;
  /** Histories of the last steps, oldest first. */
  readonly history: { readonly times: readonly number[]; readonly success: readonly number[] };
  /** Samples of the last seconds, oldest first. */
  readonly samples: readonly Sample[];
  readonly window: WindowProgress.WindowProgress;
  /** Active alarms, oldest first. */
  readonly alarms: readonly Alarm[];
  /** Newest last. */
  readonly notices: readonly string[];
  readonly outcome: RunOutcome | null;
}

/** Samples for averaging the gauges, steps of the histories, and notices shown. */
const limits = { samples: 21, steps: 40, notices: 3 } as const;

export const initialView = (run: RunInfo): View => ({
  run,
  step: run.from,
  metrics: mergeMetrics(),
  history: { times: [], success: [] },
  samples: [],
  window: WindowProgress.initial(run),
  alarms: run.alarms,
  notices: [],
  outcome: null,
});

const push = <A>(items: readonly A[], item: A, most: number): readonly A[] => [...items, item].slice(-most);

const afterEvent = (view: View, event: Event): View => {
  const isAlarm = event._tag === "AlarmRaised" || event._tag === "AlarmEnded";
  const alarms = isAlarm ? standingAfter(view.alarms, event) : view.alarms;
  // An active alarm has its own place: among the notices it would only push the others away.
  const notice = event._tag === "AlarmRaised" ? null : noticeText(event);
  return { ...view, alarms, notices: notice === null ? view.notices : push(view.notices, notice, limits.notices) };
};

export const updateView = (before: View, next: Update): View => {
  const view = { ...before, window: WindowProgress.update(before.window, next) };
  switch (next._tag) {
    case "Step": {
      const { step, time, metrics } = next.record;
      const success = valueIn(metrics, episodes.success.of({ split: "train" }));
      return {
        ...view,
        step,
        // A record without the episodes' figures (an empty window, a validation) leaves the last ones shown.
        metrics: mergeMetrics(view.metrics, metrics),
        history: {
          times: step > view.step ? push(view.history.times, time, limits.steps) : view.history.times,
          success: success === undefined ? view.history.success : push(view.history.success, success, limits.steps),
        },
      };
    }
    case "Sample":
      return { ...view, samples: push(view.samples, next.sample, limits.samples) };
    case "Event":
      return afterEvent(view, next.event);
    case "Close":
      return { ...view, outcome: next.outcome };
  }
};

const stopNotice = ({ message, reason, steps }: Stopped): string => {
  if (reason === "stalled") return `stopping (stalled): ${message ?? "nothing happened for long"}`;
  if (reason === "stopped") {
    const rest = steps === 1 ? "1 more step" : `${steps} more steps`;
    return steps === undefined || steps === 0
      ? "stopping: the window in play is dropped, and a resumed run plays it again"
      : `stopping: ${rest} first, as their groups are played or in play; then a checkpoint`;
  }
  if (reason === "deadline") return "the stop's deadline has passed: groups in flight are dropped";
  const then = isEarly(reason) || steps === 0 ? "the run ends with this step" : "groups in flight are finished first";
  return `stopping (${reason.replaceAll("_", " ")}): ${then}`;
};

const regimeText: Readonly<Record<Regime, string>> = {
  healthy: "the thoughts vary and tell of their prompts again",
  template_collapse: "template collapse: the thoughts vary, but no longer tell of their prompts",
  compressed: "the thoughts vary little, and tell of their prompts",
  entropy_collapse: "entropy collapse: the thoughts hardly vary, and no longer tell of their prompts",
};

const drawingText: Readonly<Record<Drawing, string>> = { first_turn: "first turns", trajectory: "all turns" };

/** The state of a server as one line for people. */
export const serverText = ({ name, role, state }: ServerChange): string => {
  switch (state._tag) {
    case "Up":
      return `${role} ${name}: it answers`;
    case "Retrying": {
      const { nextAt, since, why } = state;
      return `${role} ${name}: no answer (${why}); asked again ${duration(Math.max(0, nextAt - since))} later`;
    }
    case "Lost":
      return `${role} ${name}: lost (${state.why})`;
    case "ShutOut":
      return `${role} ${name}: shut out (${state.why})`;
  }
};

const failedText = (share: number): string => (share < 0.01 ? "<1%" : percent(share));

/** Share of failed episodes; null if none failed. It is shown beside success, which leaves failed episodes out. */
export const failedShare = (metrics: Metrics, split: Split): string | null => {
  const share = valueIn(metrics, endings.share.of({ split, how: "failed" })) ?? 0;
  return share === 0 ? null : failedText(share);
};

/** Success of a validation, and the share of failed episodes, which success leaves out. */
export const validationText = ({ failed, success }: Pick<Validated, "failed" | "success">): string => {
  const text = success === undefined ? "success unknown, no episode could be used" : `success ${percent(success)}`;
  return failed === undefined || success === undefined ? text : `${text}, ${failedText(failed)} of the episodes failed`;
};

const reusedText = ({ differing, replies, seconds, step, windows }: RepliesReused): string => {
  const others = differing === 0 ? "" : `; ${differing} requests differed and were generated`;
  return `step ${step}: ${windows} whole windows and ${replies} replies came from the log in ${duration(seconds * 1000)}${others}`;
};

/** An event as one line for people; null for events that are too frequent. */
export const noticeText = (event: Event): string | null => {
  switch (event._tag) {
    case "Finished":
      return event.failed ? `group ${event.group} failed: ${event.reason ?? "no episode could be used"}` : null;
    case "ValidationRepeated":
      return `group ${event.group}: ${event.tag} has hardly an instance that is not validation's; training plays those too`;
    case "Validated":
      return `step ${event.step}: validation ${validationText(event)}`;
    case "CollapseMeasured":
      return event.regime === (event.before ?? "healthy")
        ? null
        : `step ${event.step}, ${drawingText[event.drawing]}: ${regimeText[event.regime]}`;
    case "ValidationPostponed":
      return `step ${event.step}: nothing was trained; validation follows the next update`;
    case "CheckpointWritten":
      return `step ${event.step}: checkpoint ${event.folder}`;
    case "CheckpointSkipped":
      return `step ${event.step}: checkpoint skipped, ${event.reason}; the ones before it stay`;
    case "RepliesReused":
      return reusedText(event);
    case "ReplyLogEnded":
      return `step ${event.step}: replies are not logged any more: ${event.reason}`;
    case "EmptySelection":
      return `window ${event.window}: the filter kept nothing (${event.consecutive} in a row)`;
    case "Updated":
      return event.notFinite === undefined
        ? null
        : `window ${event.window}: trained in part only, not finite: ${event.notFinite}`;
    case "UpdateSkipped":
      return `window ${event.window}: update skipped, ${event.reason}`;
    case "ServerChanged":
      // Only the first of a series of attempts makes a notice; the page shows the others.
      return event.state._tag === "Retrying" && event.state.attempt > 1 ? null : serverText(event);
    case "AlarmRaised":
      return textOf(event);
    case "AlarmEnded":
      return `step ${event.step}: no longer so: ${event.title}`;
    case "Stopped":
      return stopNotice(event);
    case "Stalled":
      return [`nothing happened for ${duration(event.silentMs)}:`, ...event.lines].join("\n  ");
    default:
      return null;
  }
};

/** The end of the run, as one line. */
export const outcomeText = (outcome: RunOutcome): string => {
  switch (outcome._tag) {
    case "Completed":
      return "completed";
    case "Stopped":
      return outcome.reason === "stopped" ? "stopped" : `stopped (${outcome.reason.replaceAll("_", " ")})`;
    case "Failed":
      return `failed: ${outcome.message}`;
  }
};

/** Milliseconds since the run started; 0 before the first sample. */
export const elapsedMs = ({ samples }: View): number => samples.at(-1)?.elapsedMs ?? 0;

/** Milliseconds left at the pace of the last steps; NaN while there is none. */
export const leftMs = ({ run, step, history: { times } }: View): number => {
  const [first, last] = [times[0], times.at(-1)];
  if (first === undefined || last === undefined || times.length < 2) return Number.NaN;
  return ((last - first) / (times.length - 1)) * Math.max(0, run.steps - step);
};

/**
 * Tokens per second: generated over the samples on show (from the last record before there are two), trained by the last record,
 * for updates come in lumps.
 */
export const tokensPerSecond = ({ samples, metrics }: View): Sample["tokens"] => {
  const [first, last] = [samples[0], samples.at(-1)];
  const rates = first === undefined || last === undefined ? null : tokenRates(first, last);
  return {
    generated: rates?.generated ?? valueIn(metrics, tokens.generated) ?? 0,
    trained: valueIn(metrics, tokens.trained) ?? 0,
  };
};
