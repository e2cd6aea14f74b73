/**
 * The invariants must hold of every schedule. Each check reads the events and replies of a run, never the engine's state, and says what is broken in
 * one sentence. The fakes check the ledger's balance at every event besides.
 */
import { trainedLevels } from "../../src/config/levels.ts";
import { weighingOf } from "../../src/config/taskSampler.ts";
import type { Event } from "../../src/domain/Event.ts";
import { lead } from "../../src/domain/PipelineMode.ts";
import * as TaskSampler from "../../src/domain/TaskSampler.ts";
import type { Life, TimedEvent } from "./playSchedule.ts";
import type { Schedule } from "./Schedule.ts";

type Tagged<Tag extends Event["_tag"]> = Extract<Event, { readonly _tag: Tag }>;

const eventsOf = <Tag extends Event["_tag"]>(events: readonly TimedEvent[], tag: Tag): readonly Tagged<Tag>[] =>
  events.flatMap(({ event }) => (event._tag === tag ? [event as Tagged<Tag>] : []));

const isConsumption = (event: Event): event is Tagged<"Updated" | "EmptySelection" | "UpdateSkipped"> =>
  event._tag === "Updated" || event._tag === "EmptySelection" || event._tag === "UpdateSkipped";

/** The groups that an event ends, and how. */
const endsOf = (event: Event): readonly (readonly [group: number, end: string])[] => {
  switch (event._tag) {
    case "Finished":
      return event.failed ? [[event.group, "failed"]] : [];
    case "Verdict":
      return event.filtered.map((group) => [group, "filtered"] as const);
    case "Updated":
      return event.groups.map((group) => [group, "trained"] as const);
    case "UpdateSkipped":
      return event.groups.map((group) => [group, "dropped"] as const);
    case "Dropped":
      return event.groups.map(({ group }) => [group, "dropped"] as const);
    default:
      return [];
  }
};

/** Every admitted group ends exactly once; of a run that was cut off, at most once. */
const endsOnce = ({ events, observed }: Life): readonly string[] => {
  const ends = new Map<number, string | null>();
  const problems: string[] = [];
  for (const { event } of events) {
    if (event._tag === "Admitted") {
      if (ends.has(event.group)) problems.push(`group ${event.group} is admitted twice`);
      ends.set(event.group, null);
    }
    for (const [group, end] of endsOf(event)) {
      const before = ends.get(group);
      if (before === undefined) problems.push(`group ${group} is ${end} and was never admitted`);
      else if (before !== null) problems.push(`group ${group} is ${end}, and ${before} before`);
      ends.set(group, end);
    }
  }
  if (observed === null) return problems;
  for (const [group, end] of ends) if (end === null) problems.push(`group ${group} has no end`);
  return problems;
};

const isRisingByOne = (numbers: readonly number[], from: number): boolean =>
  numbers.every((number, i) => number === from + i);

/** Windows are judged, consumed and closed in order, each once, and hold the groups admitted for them. */
const inOrder = ({ config, mode }: Schedule, { events, from }: Life): readonly string[] => {
  const problems: string[] = [];
  const orders = {
    judged: eventsOf(events, "Verdict").map(({ window }) => window),
    consumed: events.flatMap(({ event }) => (isConsumption(event) ? [event.window] : [])),
    closed: eventsOf(events, "StepClosed").map(({ step }) => step - 1),
  };
  for (const [name, order] of Object.entries(orders)) {
    if (!isRisingByOne(order, from)) problems.push(`windows are ${name} in the order ${order.join(", ")}`);
  }
  const admittedFor = new Map(eventsOf(events, "Admitted").map(({ group, window }) => [group, window]));
  for (const { groups, window } of eventsOf(events, "Windowed")) {
    if (groups.length < config.es_manager.train.env_groups) problems.push(`window ${window} is short: ${groups}`);
    const strangers = groups.filter((group) => mode !== "async_completion" && admittedFor.get(group) !== window);
    if (strangers.length > 0) problems.push(`window ${window} holds ${strangers}, which were admitted for another`);
  }
  return problems;
};

/** No group is admitted further ahead of consumption than the rules allow, and none while admission is paused or closed. */
const admittedInTime = ({ config }: Schedule, { events, from }: Life): readonly string[] => {
  const ahead = lead({ mode: config.pipeline.mode, maxStaleness: config.pipeline.max_staleness });
  const problems: string[] = [];
  let consumed = from;
  let [isPaused, isStopped] = [false, false];
  for (const { event } of events) {
    if (isConsumption(event)) consumed++;
    if (event._tag === "Stopped") isStopped = true;
    if (event._tag === "Controlled" && event.control._tag === "PauseAdmission") isPaused = true;
    if (event._tag === "Controlled" && event.control._tag === "ResumeAdmission") isPaused = false;
    if (event._tag !== "Admitted") continue;
    if (event.window - consumed > ahead) {
      problems.push(`group ${event.group} of window ${event.window} is admitted with ${consumed} consumed`);
    }
    if (isStopped && event.refill === undefined) problems.push(`group ${event.group} is admitted after the stop`);
    if (isPaused && !isStopped) problems.push(`group ${event.group} is admitted while admission is paused`);
  }
  return problems;
};

/** The version after each number of consumed windows, from the start of this life. */
const versionsAfter = (start: number, events: readonly TimedEvent[]): readonly number[] => {
  const versions = [start];
  for (const { event } of events) {
    if (isConsumption(event)) versions.push(event._tag === "Updated" ? event.version : versions.at(-1)!);
  }
  return versions;
};

/** Trained tokens are no staler than promised: not at all in sync and lockstep, and by the lag's own version under a fixed lag. */
const freshEnough = ({ config, mode }: Schedule, { events, from, observed }: Life): readonly string[] => {
  if (observed === null || mode === "async_completion") return [];
  const bound = lead({ mode: config.pipeline.mode, maxStaleness: config.pipeline.max_staleness });
  const problems: string[] = [];
  const learnings = eventsOf(events, "Learning");
  const fromOf = new Map(learnings.map(({ from, window }) => [window, from]));
  for (const { mask, versions, window } of observed.batches) {
    const trainedFrom = fromOf.get(window) ?? Number.NaN;
    for (let i = 0; i < versions.length; i++) {
      const staleness = trainedFrom - versions[i]!;
      if (mask[i] === 1 && !(staleness >= 0 && staleness <= bound)) {
        problems.push(`window ${window} trains a token of version ${versions[i]} from version ${trainedFrom}`);
        break;
      }
    }
  }
  if (mode !== "fixed_lag" || from > 0) return problems;
  const standing = versionsAfter(0, events);
  const pins = new Map(eventsOf(events, "Admitted").map(({ group, pin, window }) => [group, { pin, window }]));
  for (const { group, validation, version } of observed.replies) {
    const admission = validation ? undefined : pins.get(group);
    if (admission === undefined) continue;
    const promised = standing[Math.max(0, admission.window - config.pipeline.max_staleness)];
    if (version !== admission.pin || version !== promised) {
      problems.push(`group ${group} of window ${admission.window} is played by ${version}, promised ${promised}`);
    }
  }
  return problems;
};

/**
 * Every level is drawn from the posterior after the number of consumed windows that the mode promises, those of earlier starts included. In
 * completion order a window may be consumed before its refill is admitted, which then draws like a group of the window that is next.
 */
const drawnAsPromised = ({ config, mode }: Schedule, lives: readonly Life[]): readonly string[] => {
  const ahead = lead({ mode: config.pipeline.mode, maxStaleness: config.pipeline.max_staleness });
  const levels = trainedLevels(config).Reach ?? [];
  const problems: string[] = [];
  let posteriors: TaskSampler.Posterior[] = [{}];
  for (const { events, from } of lives) {
    posteriors = posteriors.slice(0, from + 1);
    for (const { event } of events) {
      if (isConsumption(event) && event.levelResults !== undefined) {
        posteriors.push(TaskSampler.update(posteriors.at(-1)!, event.levelResults));
      }
      if (event._tag !== "Admitted") continue;
      const consumed = posteriors.length - 1;
      const window = mode === "async_completion" ? Math.max(event.window, consumed) : event.window;
      const posterior = posteriors[Math.max(0, window - ahead)];
      const weighed = TaskSampler.weigh(posterior ?? {}, levels, weighingOf(config));
      const promised = TaskSampler.draw(weighed, config.run.seed, event.group);
      if (event.level !== promised.tag || event.probability !== promised.probability) {
        problems.push(`group ${event.group} of window ${event.window} plays ${event.level}, promised ${promised.tag}`);
      }
    }
  }
  return problems;
};

/** No more replies are made at a time than the generator has slots. */
const withinSlots = ({ config }: Schedule, { observed }: Life): readonly string[] => {
  const changes = (observed?.replies ?? []).flatMap(({ requestedAt, servedAt }) =>
    servedAt > requestedAt ? [[requestedAt, 1] as const, [servedAt, -1] as const] : [],
  );
  // At one moment the ends come first: a slot may be passed on without time in between.
  changes.sort(([a, one], [b, other]) => a - b || one - other);
  let [active, most] = [0, 0];
  for (const [, change] of changes) {
    active += change;
    most = Math.max(most, active);
  }
  const { slots } = config.generation;
  return most > slots ? [`${most} replies are made at a time with ${slots} slots`] : [];
};

/** A run ends as it should: whole, or soon after its stop. */
const endsInTime = ({ adoptMs, config, updateMs }: Schedule, life: Life): readonly string[] => {
  const { endedAt, events, failure, observed } = life;
  if (failure !== null) return [`the run fails: ${failure}`];
  if (observed === null) return [];
  const { reason, step } = observed.ended;
  const windows = config.trainer.total_training_steps;
  const stop = events.find(({ event }) => event._tag === "Stopped");
  if (stop === undefined) {
    return reason === "complete" && step === windows ? [] : [`the run ends ${reason} at step ${step} of ${windows}`];
  }
  const isCut = events.some(({ event }) => event._tag === "Stopped" && event.reason === "deadline");
  const closedBefore = events.slice(0, events.indexOf(stop)).filter(({ event }) => event._tag === "StepClosed").length;
  const { steps } = stop.event as Tagged<"Stopped">;
  const announced = life.from + closedBefore + (steps ?? 0);
  if (steps !== undefined && !isCut && step !== announced) {
    return [`the stop announces an end at step ${announced}, and the run ends at ${step}`];
  }
  const latest = stop.at + config.pipeline.stop_deadline_ms + 2 * (updateMs + adoptMs);
  return endedAt <= latest
    ? []
    : [`the run is stopped at ${stop.at} ms and ends at ${endedAt} ms, not by ${latest} ms`];
};

/** A group's number and its place determine each other in all lives of a run, unless windows form in the order of completion. */
const numberedByPlace = ({ mode }: Schedule, lives: readonly Life[]): readonly string[] => {
  if (mode === "async_completion") return [];
  const groups = new Map<string, number>();
  const places = new Map<number, string>();
  return lives.flatMap(({ events }) => {
    const counts = new Map<string, number>();
    return eventsOf(events, "Admitted").flatMap(({ group, refill = 0, window }) => {
      const round = `refill ${refill} of window ${window}`;
      const count = counts.get(round) ?? 0;
      counts.set(round, count + 1);
      const place = `place ${count} of ${round}`;
      const [before, other] = [groups.get(place) ?? group, places.get(group) ?? place];
      groups.set(place, group);
      places.set(group, place);
      return before === group && other === place
        ? []
        : [`group ${group} is at ${place}, where ${before} was, and was at ${other}`];
    });
  });
};

/** Checks all lives of a schedule and says what is broken. */
export const violations = (schedule: Schedule, lives: readonly Life[]): readonly string[] => [
  ...numberedByPlace(schedule, lives),
  ...drawnAsPromised(schedule, lives),
  ...lives.flatMap((life, i) =>
    [
      ...endsInTime(schedule, life),
      ...endsOnce(life),
      ...inOrder(schedule, life),
      ...admittedInTime(schedule, life),
      ...freshEnough(schedule, life),
      ...withinSlots(schedule, life),
    ].map((problem) => (i === 0 ? problem : `resumed: ${problem}`)),
  ),
];

/** Says what each window trained, over all lives. A window that a resumed run makes again counts there alone. */
export const outcomeOf = (lives: readonly Life[]): readonly string[] =>
  lives.flatMap(({ events }, i) => {
    const next = lives[i + 1]?.from ?? Number.POSITIVE_INFINITY;
    return events.flatMap(({ event }) => {
      if (!isConsumption(event) || event.window >= next) return [];
      const { _tag, levelResults, window } = event;
      if (event._tag === "EmptySelection") return [`${window} ${_tag} after ${JSON.stringify(levelResults)}`];
      const rest = event._tag === "Updated" ? ` makes ${event.version} of ${event.tokens} tokens` : "";
      return [`${window} ${_tag} ${event.groups.join(",")}${rest} after ${JSON.stringify(levelResults)}`];
    });
  });

/** True of modes whose outcome depends on no speed and no order. */
export const isPromisedEqual = ({ mode }: Schedule): boolean =>
  mode === "sync" || mode === "lockstep" || mode === "fixed_lag";
