/** The alarms over records of real runs: each goes off where it should, and none over runs that learn. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Schema } from "effect";
import { describe, expect, it } from "vitest";
import * as Alarms from "../../src/domain/alarms/Alarms.ts";
import { textOf } from "../../src/domain/alarms/text.ts";
import { thresholds } from "../../src/domain/alarms/thresholds.ts";
import { metricsOf } from "../build/metricsOf.ts";

const Records = Schema.Struct({
  records: Schema.Array(Schema.Record(Schema.String, Schema.Finite)),
});
type Record = (typeof Records.Type)["records"][number];

const recordsIn = (file: string): readonly Record[] =>
  Schema.decodeUnknownSync(Schema.fromJsonString(Records))(readFileSync(file, "utf8")).records;

const learning = "bench/results/learning";
const recorded = "test/fixtures/alarms";

interface Told {
  readonly step: number;
  readonly alarm: Alarms.Name;
  readonly sign?: Alarms.Alarm["sign"];
  readonly ended?: true;
}

/** Observes the records; returns the alarms that are raised and ended, in order. */
const replay = (records: readonly Record[], from: Alarms.Alarms = Alarms.initial) => {
  let alarms = from;
  const announcements: Told[] = [];
  for (const { step = 0, ...values } of records) {
    const { counts, ended, raised } = Alarms.observe(alarms, step, metricsOf(values));
    let { standing } = alarms;
    for (const { alarm, title } of ended) {
      standing = Alarms.standingAfter(standing, { _tag: "AlarmEnded", alarm, step, title });
      announcements.push({ step, alarm, ended: true });
    }
    for (const { alarm } of raised) {
      standing = Alarms.standingAfter(standing, { _tag: "AlarmRaised", ...alarm });
      announcements.push({ step, alarm: alarm.alarm, sign: alarm.sign });
    }
    alarms = { counts, standing };
  }
  return { told: announcements, alarms };
};

const raisedIn = (file: string): readonly string[] =>
  replay(recordsIn(file)).told.flatMap(({ alarm, ended }) => (ended ? [] : [alarm]));

/** The alarms of a checkpoint. */
const decoded = (alarms: unknown): Alarms.Alarms =>
  Schema.decodeUnknownSync(Schema.Struct({ alarms: Alarms.Alarms }))({ alarms }).alarms;

/** Sokoban without what keeps it together: these runs broke apart. */
const broken: Readonly<globalThis.Record<string, readonly Alarms.Name[]>> = {
  "sokoban-without-any-async-seed0.json": ["divergence", "decline"],
  "sokoban-without-ratio-clip-async-seed0.json": ["decline"],
};

describe("runs that learn", () => {
  const good = [
    ...readdirSync(learning, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".json") && !Object.hasOwn(broken, name))
      .map((name) => join(learning, name)),
    join(recorded, "quickstart.json"),
  ];
  it.each(good)("raise none of the alarms: %s", (file) => {
    expect(recordsIn(file).length).toBeGreaterThan(10);
    expect(raisedIn(file)).toEqual([]);
  });

  it("measure what every alarm goes by", () => {
    const { streaks } = replay(recordsIn(join(recorded, "quickstart.json"))).alarms.counts;
    const measured = [
      "unread",
      "illegal",
      "constant",
      "unpaid",
      "cutInTraining",
      "cutInValidation",
      "certain",
      "updateKl",
    ];
    expect(Object.keys(streaks)).toEqual(expect.arrayContaining([...measured, "referenceKl", "effectiveShare"]));
  });
});

describe("runs that cannot learn", () => {
  it.each(Object.entries(broken))("raise theirs once: %s", (name, expected) => {
    expect(raisedIn(join(learning, name)).toSorted()).toEqual(expected.toSorted());
  });

  it.each([
    ["unread", "format", "unread", thresholds.windows],
    ["illegal", "format", "illegal", thresholds.windows],
    ["constant", "variance", "constant", thresholds.constantWindows],
    ["unpaid", "variance", "unpaid", thresholds.unpaidWindows],
    ["context", "context", "cutInValidation", 0],
    ["certain", "entropy", "certain", thresholds.entropyWindows],
  ])("raise theirs once, after as many windows as it takes: %s", (name, alarm, sign, step) => {
    const notices = replay(recordsIn(join(recorded, `${name}.json`))).told.filter((each) => each.alarm === alarm);
    expect(notices).toEqual([{ step, alarm, sign }]);
  });

  it("are told apart by training where there is no validation", () => {
    const training = recordsIn(join(recorded, "context.json")).map((record) =>
      Object.fromEntries(Object.entries(record).filter(([name]) => !name.startsWith("val-env/"))),
    );
    expect(replay(training).told).toEqual([{ step: thresholds.windows, alarm: "context", sign: "cutInTraining" }]);
  });

  it("go on from a checkpoint as if they had not stopped, and are warned of once", () => {
    const records = recordsIn(join(learning, "sokoban-without-any-async-seed0.json"));
    const whole = replay(records).told;
    for (const at of [3, 12, 30]) {
      const before = replay(records.slice(0, at));
      const text = JSON.stringify(before.alarms);
      const after = replay(records.slice(at), decoded(JSON.parse(text)));
      expect([...before.told, ...after.told]).toEqual(whole);
    }
  });
});

describe("an alarm", () => {
  const values = (over: Readonly<globalThis.Record<string, number>> = {}) => ({ "train/parsed": 0, ...over });
  const windows = (count: number, over = {}, from = 1): readonly Record[] =>
    Array.from({ length: count }, (_, at) => ({ step: from + at, ...values(over) }));

  it("ends once its sign has been gone for a while, and can go off again", () => {
    const { quiet } = thresholds;
    const good = windows(quiet, { "train/parsed": 0.9 }, 5);
    const { told } = replay([...windows(4), ...good, ...windows(3, {}, 5 + quiet)]);
    const raised = { alarm: "format", sign: "unread" };
    expect(told).toEqual([
      { step: 3, ...raised },
      { step: 4 + quiet, alarm: "format", ended: true },
      { step: 7 + quiet, ...raised },
    ]);
  });

  it("counts only the records that measure its sign", () => {
    const [first, second, third] = windows(3);
    expect(replay([first!, { step: 9 }, second!, { step: 10 }]).told).toEqual([]);
    expect(replay([first!, { step: 9 }, second!, { step: 10 }, third!]).told).toHaveLength(1);
  });

  it("says nothing of equal rewards where the task is solved, but does where they never differed", () => {
    const solved = (count: number, deviation: number, from: number): readonly Record[] =>
      Array.from({ length: count }, (_, at) => ({
        step: from + at,
        "train/success": 1,
        "rollout/in_group_reward_std": deviation,
        "rollout/empty_after_filter": 0,
      }));
    expect(replay([...solved(1, 0.4, 1), ...solved(9, 0, 2)]).told).toEqual([]);
    expect(replay(solved(9, 0, 1)).told).toEqual([{ step: 5, alarm: "variance", sign: "constant" }]);
  });

  it("says nothing of penalties alone while the format is learnt, where rewards come after it", () => {
    const learnt = (shares: readonly number[], paid: number, from: number): readonly Record[] =>
      shares.map((share, at) => ({
        step: from + at,
        "train/parsed": share,
        "train/A/manager_invalid_action": 1 - share,
        "rollout/in_group_reward_std": 0.05 + paid,
        "rollout/in_group_env_reward_std": paid,
        "rollout/empty_after_filter": 0,
      }));
    const hardlyAsked = Array.from({ length: 20 }, (_, at) => 0.05 + at / 50);
    const format = [...hardlyAsked, 0.55, 0.6, 0.7, 0.8, 0.9, 0.95, 0.95];
    const rewarded = learnt([0.95, 0.95, 0.95], 0.2, 28);
    expect(replay([...learnt(format, 0, 1), ...rewarded]).told).toEqual([]);
    const never = learnt([...format, 0.95, 0.95, 0.95], 0, 1);
    expect(replay(never).told).toEqual([{ step: 30, alarm: "variance", sign: "unpaid" }]);
  });

  it("counts windows in which no penalty differs either as windows without pay", () => {
    const mixed = Array.from({ length: 10 }, (_, at) => ({
      step: 1 + at,
      "train/parsed": 0.99,
      "train/A/manager_invalid_action": 0.01,
      "rollout/in_group_reward_std": at % 2 === 0 ? 0 : 0.02,
      "rollout/in_group_env_reward_std": 0,
      "rollout/empty_after_filter": (at + 1) % 2,
    }));
    expect(replay(mixed).told).toEqual([{ step: 10, alarm: "variance", sign: "unpaid" }]);
  });

  it("is text without control characters, however a reply looks, and short", () => {
    const { raised } = Alarms.observe(replay(windows(2)).alarms, 3, metricsOf(values()));
    const reply = `\u001b[31mred\u0007\n${"x".repeat(1000)}`;
    const alarm: Alarms.Alarm = { ...raised[0]!.alarm, example: { tag: "A", reply, legal: ["Up", "Down\u001b"] } };
    const text = textOf(alarm);
    expect(text.replaceAll("\n", "")).not.toMatch(/\p{C}/u);
    expect(text).toContain("Legal actions there: Up, Down");
    expect(text.length).toBeLessThan(1200);
  });
});
