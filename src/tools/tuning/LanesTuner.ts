/**
 * Decides how many of the learner's lanes the next updates use, as a state machine without fibers, clocks or clients. Lanes share the cores
 * with the generator threads, whose number is fixed: fewer lanes leave cores to generation, more make updates quicker. It tries another
 * number, and keeps it only if windows pass the learner faster by more than the error of the measurement.
 * Invariants: two changes, there and back included, are a minute apart or more; a number that did not pay is left alone for a long while,
 * twice as long each time, until service times have changed; nothing is tried while other settings change.
 */
import * as Attribution from "../../flow/attribution/Attribution.ts";
import * as StageLoad from "../../flow/attribution/StageLoad.ts";
import type { Decision } from "./Autotune.ts";
import * as Progress from "./Progress.ts";
import * as WindowRate from "./WindowRate.ts";

export interface Lanes {
  /** Lanes that the learner has; nothing is ever changed where it has one. */
  readonly most: number;
  /** Windows that may be made ahead of the one that is consumed: those pass before a change shows. */
  readonly lead: number;
}

export interface LanesOptions extends Lanes {
  readonly setting: Attribution.RunLimits;
}

export interface Observation extends Progress.Observation {
  /** Lanes that the next update uses. */
  readonly lanes: number;
  /** True while nobody else changes concurrencies. */
  readonly free: boolean;
}

/** Mean service times, milliseconds, by stage. */
type Times = ReadonlyMap<string, number>;

interface LaneTrial {
  readonly from: number;
  /** Throughput with the lanes of `from`. */
  readonly base: WindowRate.Estimate;
  /** True when other settings changed meanwhile, so that the trial shows nothing. */
  readonly disturbed: boolean;
}

export interface State {
  readonly options: LanesOptions;
  readonly last: Observation | null;
  readonly lanes: number;
  /** Throughput with the present lanes. */
  readonly windowRate: WindowRate.State;
  /** The newest readings of what that shows without a pause, the oldest first. */
  readonly readings: readonly Progress.Observation[];
  readonly trial: LaneTrial | null;
  readonly changed: number;
  /** Numbers that did not pay or were left for another, with the time until which they are not tried. */
  readonly barred: ReadonlyMap<number, { readonly until: number; readonly ms: number }>;
  /** Service times with the present lanes when they were last found better than others. */
  readonly times: Times | null;
}

export interface Outcome {
  readonly state: State;
  readonly decision: Decision | null;
}

const REST_MS = 60_000;
/** The first time that a number is left alone: one that did not pay, and one that another was better than. */
const BARRED_MS = { tried: 300_000, left: 600_000 };
/** A change is seen in the samples within this time, or was refused. */
const HEARD_MS = 5000;
/** A measurement is good with this error, or after this time. */
const GOOD = { error: 0.01, ms: 120_000 };
/** A change must gain this share, and so many standard errors of the difference. */
const GAIN = { least: 0.01, errors: 2.5 };
/** It is measured for so long to show that, and so long where it gains more than one error. */
const SHOWN_MS = { all: 150_000, likely: 270_000 };
/** No trial is longer: windows may take long, or validation most of the time. */
const LONGEST_MS = 900_000;
/** Pull of the learner above which more lanes may pay, and share of its time without a window above which fewer may. */
const PULL = 0.3;
const STARVED = 0.2;
/** A lane may become so much quicker where it shares cores with fewer others. */
const QUICKER = 1.5;
/** Times have changed by this factor's logarithm, of services with so many calls and of so many updates. */
const SHIFT = 0.5;
const CALLS = 20;
const UPDATES = 6;
/** Newest readings that show what sets the pace and how long calls take. */
const READINGS = 120;

export const start = (options: LanesOptions): State => ({
  options,
  last: null,
  lanes: options.most,
  windowRate: WindowRate.start(0),
  readings: [],
  trial: null,
  changed: 0,
  barred: new Map(),
  times: null,
});

/** Other settings should stay as they are during a trial. */
export const isTrying = ({ trial }: State): boolean => trial !== null;

const nothing = (state: State): Outcome => ({ state, decision: null });

const windowsOf = ({ stages }: Progress.Observation): number => stages.find(({ name }) => name === "learn")?.items ?? 0;

/** Windows that are done when what was made before the observation has passed: one under way, and those made ahead. */
const settled = ({ options }: State, observation: Progress.Observation): number =>
  windowsOf(observation) + options.lead + 2;

const afresh = (state: State, observation: Observation): State => ({
  ...state,
  windowRate: WindowRate.start(settled(state, observation)),
  readings: [],
});

const barring = (
  { barred }: State,
  numbers: readonly number[],
  now: number,
  first = BARRED_MS.tried,
): State["barred"] =>
  new Map([
    ...barred,
    ...numbers.map((lanes) => {
      const before = barred.get(lanes);
      const ms = before === undefined ? first : 2 * before.ms;
      return [lanes, { until: now + ms, ms }] as const;
    }),
  ]);

/** From one number up to another one, which is left out. */
const towards = (from: number, to: number): readonly number[] =>
  Array.from({ length: Math.abs(to - from) }, (_, i) => from + i * Math.sign(to - from));

const changedTo = (state: State, to: number, why: string, observation: Observation): Outcome => ({
  state: afresh({ ...state, lanes: to, changed: observation.elapsedMs }, observation),
  decision: {
    control: { _tag: "SetConcurrency", stage: "lanes", concurrency: to },
    reason: `lanes from ${state.lanes} to ${to}: ${why}`,
  },
});

const loadsOf = (from: Progress.Observation, to: Progress.Observation): readonly StageLoad.StageLoad[] =>
  to.stages.flatMap(
    (sample) => StageLoad.between(from.stages.find(({ name }) => name === sample.name) ?? null, sample) ?? [],
  );

const timesOf = (loads: readonly StageLoad.StageLoad[]): Times =>
  new Map(
    loads
      .filter(({ items, kind, name }) => (kind === "service" ? items >= CALLS : name === "learn" && items >= UPDATES))
      .map(({ name, serviceMs }) => [name, serviceMs]),
  );

const differ = (before: Times, after: Times): boolean =>
  [...after].some(([name, ms]) => Math.abs(Math.log(ms / (before.get(name) ?? ms))) > SHIFT);

/** Far ones first: between near ones little changes. */
const more = ({ lanes, options }: State): readonly number[] =>
  lanes < options.most ? [Math.min(options.most, 2 * lanes), lanes + 1] : [];

/** The most lanes that were left for fewer. The reason may be gone by now, or may only have seemed one. */
const left = ({ barred, lanes }: State): readonly number[] => {
  const most = Math.max(0, ...barred.keys());
  return most > lanes ? [most] : [];
};

/** The farthest are the fewest that can keep up with what those that are busy now do. */
const fewer = ({ lanes }: State, busy: number): readonly number[] => {
  const far = Math.max(1, Math.ceil((busy * lanes) / QUICKER));
  return far < lanes ? [far, lanes - 1] : [];
};

const percent = (share: number): string => `${Math.round(100 * share)} %`;

const describeRate = ({ rate }: WindowRate.Estimate, lanes: number): string =>
  `${rate.toPrecision(3)} windows a second with ${lanes}`;

/** Picks a number of lanes that may pay, with the reason; null if there is none. */
const candidate = (
  state: State,
  from: Progress.Observation,
  to: Observation,
): { readonly lanes: number; readonly why: string } | null => {
  const { barred, options } = state;
  const { loads, pulls } = Attribution.attribute(from.stages, to.stages, options.setting);
  const open = (lanes: number): boolean => to.elapsedMs >= (barred.get(lanes)?.until ?? 0);
  const pull = pulls.find(({ stage }) => stage === "learn")?.pull ?? 0;
  const paced = pull > PULL;
  const up = (paced ? more(state) : left(state)).find(open);
  if (up !== undefined) return { lanes: up, why: paced ? "updates set the pace" : "it was used before" };
  const { busy, starved } = loads.find(({ name }) => name === "learn") ?? { busy: 0, starved: 0 };
  // In the other modes rollouts and updates take turns, so lanes take no core from generation.
  const down = options.setting.mode === "async" && starved > STARVED ? fewer(state, busy).find(open) : undefined;
  if (down === undefined) return null;
  return {
    lanes: down,
    why: `the learner waits ${percent(starved)} of the time, and its lanes may take cores from the generators`,
  };
};

/** Looks for a number that may pay, once the present one is measured. */
const look = (state: State, observation: Observation): Outcome => {
  const { changed, windowRate, readings, times } = state;
  const base = WindowRate.estimate(windowRate);
  const since = readings[0];
  if (base === null || since === undefined || observation.elapsedMs - changed < REST_MS) return nothing(state);
  if (base.error > GOOD.error && base.ms < GOOD.ms) return nothing(state);
  const now = timesOf(loadsOf(since, observation));
  if (times !== null && differ(times, now)) {
    return nothing(afresh({ ...state, times: null, barred: new Map() }, observation));
  }
  const timed: State = { ...state, times: times ?? now };
  const next = candidate(timed, since, observation);
  if (next === null) return nothing(timed);
  const trial = { from: state.lanes, base, disturbed: false };
  return changedTo({ ...timed, trial }, next.lanes, `${next.why}; ${describeRate(base, state.lanes)}`, observation);
};

/** Keeps the number that is tried, or goes back, as soon as it shows whether it pays. */
const judge = (state: State, trial: LaneTrial, observation: Observation): Outcome => {
  const { changed, lanes, windowRate, readings } = state;
  const now = observation.elapsedMs;
  const since = readings[0];
  const estimate = WindowRate.estimate(windowRate);
  const { base, from } = trial;
  if (now - changed < REST_MS) return nothing(state);
  // A disturbed trial shows nothing of the number, which may be tried again.
  if (trial.disturbed) {
    return changedTo({ ...state, trial: null }, from, "other settings changed during the trial", observation);
  }
  if (estimate === null || since === undefined) {
    if (now - changed < LONGEST_MS) return nothing(state);
    const next = { ...state, trial: null, barred: barring(state, [lanes], now) };
    return changedTo(next, from, "too few windows passed to tell", observation);
  }
  const gain = estimate.rate / base.rate - 1;
  const standardError = Math.hypot(estimate.error, base.error);
  const error = GAIN.errors * standardError;
  if (gain > Math.max(error, GAIN.least)) {
    const times = timesOf(loadsOf(since, observation));
    return nothing({ ...state, trial: null, times, barred: barring(state, [from], now, BARRED_MS.left) });
  }
  if (gain + error > GAIN.least && estimate.ms < (gain > error ? SHOWN_MS.likely : SHOWN_MS.all)) return nothing(state);
  const worse = gain < -error;
  const why = `${describeRate(estimate, lanes)}, ${describeRate(base, from)}${worse ? "" : ", which is no clear gain"}`;
  // If the number tried is much like the one before, so are those between them.
  const barred = barring(state, worse ? [lanes] : towards(lanes, from), now);
  return changedTo({ ...state, trial: null, barred }, from, why, observation);
};

/** Accepts lanes that someone else has set, or a decision that was refused. */
const given = (state: State, observation: Observation): Outcome => {
  const { elapsedMs, lanes } = observation;
  if (state.trial !== null && elapsedMs - state.changed < HEARD_MS) return nothing(state);
  const barred = state.trial === null ? state.barred : barring(state, [state.lanes], elapsedMs);
  const next = { ...state, lanes, barred, trial: null, times: null, changed: elapsedMs, last: observation };
  return nothing(afresh(next, observation));
};

const wasResized = (from: Progress.Observation, to: Progress.Observation): boolean =>
  to.stages.some(
    ({ concurrency, name }) => from.stages.find((stage) => stage.name === name)?.concurrency !== concurrency,
  );

const withDisturbance = (state: State, observation: Observation): State => {
  const { trial } = state;
  return afresh({ ...state, trial: trial === null ? null : { ...trial, disturbed: true } }, observation);
};

const withReading = (state: State, last: Observation, observation: Observation, closing: boolean): State => {
  if (closing)
    return { ...state, windowRate: WindowRate.paused(state.windowRate, settled(state, observation)), readings: [] };
  const { elapsedMs } = observation;
  const looked = { elapsedMs, lookMs: elapsedMs - last.elapsedMs, windows: windowsOf(observation) };
  const windowRate = WindowRate.add(state.windowRate, looked);
  return {
    ...state,
    windowRate,
    readings: windowRate.last === null ? [] : [...state.readings, observation].slice(-READINGS),
  };
};

/** Takes one reading of the gauges in. */
export const observe = (state: State, observation: Observation): Outcome => {
  const { last, options } = state;
  if (options.most < 2) return nothing(state);
  if (last === null) {
    return nothing(afresh({ ...state, last: observation, lanes: observation.lanes }, observation));
  }
  if (observation.lanes !== state.lanes) return given(state, observation);
  const ends = Progress.ends(last, observation);
  if (ends === null) return nothing(state);
  const noted: State = { ...state, last: observation };
  const { trial } = noted;
  if (!observation.free || wasResized(last, observation)) {
    const next = withDisturbance(noted, observation);
    return next.trial === null ? nothing(next) : judge(next, next.trial, observation);
  }
  const next = withReading(noted, last, observation, ends === "closing");
  return trial === null ? look(next, observation) : judge(next, trial, observation);
};
