/**
 * The six alarms of a run that cannot learn: a pure state machine over the metrics of step records. What it has counted and which alarms stand
 * is part of the run's state, so that a resumed run goes on counting and warns of nothing twice. Invariant: an alarm that stands is not
 * raised again before it has ended.
 */
import { Effect, Schema } from "effect";
import { Count } from "../Count.ts";
import type { Metrics } from "../metrics/Metrics.ts";
import { type Explanation, explanations } from "./explanations.ts";
import * as History from "./History.ts";
import { type SignInput, type SignName, signs } from "./signs.ts";

export const names = ["format", "variance", "context", "entropy", "divergence", "decline"] as const;
const Name = Schema.Literals(names);
/** The name of an alarm. */
export type Name = typeof Name.Type;

/** The signs of each alarm; the first that is there raises it. */
const signsOf: Readonly<Record<Name, readonly SignName[]>> = {
  format: ["unread", "illegal"],
  variance: ["constant", "unpaid"],
  context: ["cutInTraining", "cutInValidation"],
  entropy: ["certain", "collapsed"],
  divergence: ["updateKl", "referenceKl", "effectiveShare"],
  decline: ["declinedTraining", "declinedValidation"],
};

/** A reply that shows what is the matter, and the actions that were legal; null where the environment takes any text. */
const Example = Schema.Struct({
  tag: Schema.String,
  reply: Schema.String,
  legal: Schema.NullOr(Schema.Array(Schema.String)),
});
export type Example = typeof Example.Type;

/** An alarm. Its texts are sentences for people, and `title` is a few words. */
export const Alarm = Schema.Struct({
  alarm: Name,
  sign: Schema.Literals(Object.values(signsOf).flat()),
  /** Step of the record that raised it. */
  step: Count,
  title: Schema.String,
  measured: Schema.String,
  cause: Schema.String,
  advice: Schema.String,
  example: Schema.optionalKey(Example),
});
export type Alarm = typeof Alarm.Type;

/** The number of records in a row in which a sign was present, or absent; one of the two is 0. */
const Streak = Schema.Struct({ there: Count, absent: Count });
type Streak = typeof Streak.Type;
const none: Streak = { there: 0, absent: 0 };

const Counts = Schema.Struct({
  /** By sign; one that was never measured has none. */
  streaks: Schema.Record(Schema.String, Streak),
  history: History.History,
});
/** The counts after a record, by which alarms are raised and ended. */
export type Counts = typeof Counts.Type;

export const Alarms = Schema.Struct({
  counts: Counts,
  /** Alarms that stand, oldest first. */
  standing: Schema.Array(Alarm),
}).pipe(Schema.withDecodingDefaultKey(Effect.sync(() => initial)));
export interface Alarms {
  readonly counts: Counts;
  readonly standing: readonly Alarm[];
}

export const initial: Alarms = { counts: { streaks: {}, history: History.empty }, standing: [] };

/** The changes that a record makes. */
export interface AlarmChanges {
  readonly counts: Counts;
  /** Alarms that go off, their example still missing. */
  readonly raised: readonly { readonly alarm: Alarm; readonly example: Explanation["example"] }[];
  readonly ended: readonly Alarm[];
}

const streakOf = ({ streaks }: Counts, name: SignName): Streak => streaks[name] ?? none;

const countSigns = ({ counts }: Alarms, seen: SignInput): Counts => {
  const streaks = { ...counts.streaks };
  for (const name of Object.values(signsOf).flat()) {
    const isThere = signs[name].isPresent(seen);
    if (isThere === undefined) continue;
    const { absent, there } = streakOf(counts, name);
    streaks[name] = isThere ? { there: there + 1, absent: 0 } : { there: 0, absent: absent + 1 };
  }
  return { streaks, history: seen.history };
};

const alarmOf = (alarm: Name, sign: SignName, step: number, seen: SignInput): AlarmChanges["raised"][number] => {
  const { advice, cause, example, title } = explanations[sign];
  return { alarm: { alarm, sign, step, title, measured: signs[sign].describe(seen), cause, advice }, example };
};

/** The alarms after one more record, whose values come once. */
export const observe = (alarms: Alarms, step: number, metrics: Metrics): AlarmChanges => {
  const seen: SignInput = { metrics, history: History.remember(alarms.counts.history, metrics) };
  const counts = countSigns(alarms, seen);
  const ended = alarms.standing.filter(
    ({ alarm }) =>
      signsOf[alarm].every((name) => streakOf(counts, name).there === 0) &&
      signsOf[alarm].some((name) => streakOf(counts, name).absent >= signs[name].quiet),
  );
  const raised = names.flatMap((name) => {
    if (alarms.standing.some(({ alarm }) => alarm === name)) return [];
    const sign = signsOf[name].find((each) => streakOf(counts, each).there >= signs[each].records);
    return sign === undefined ? [] : [alarmOf(name, sign, step, seen)];
  });
  return { counts, raised, ended };
};

/** An alarm goes off, or ends. */
export type Change =
  | ({ readonly _tag: "AlarmRaised" } & Alarm)
  | ({ readonly _tag: "AlarmEnded" } & Pick<Alarm, "alarm" | "step" | "title">);

/** The alarms that stand after a change, oldest first. */
export const standingAfter = (standing: readonly Alarm[], change: Change): readonly Alarm[] => {
  const others = standing.filter(({ alarm }) => alarm !== change.alarm);
  if (change._tag === "AlarmEnded") return others;
  const { _tag, ...alarm } = change;
  return [...others, alarm];
};
