/**
 * Which change of concurrency is worth a trial: growth of the stage that items wait for, or else less of the stage that holds most calls, because
 * crowding may be what makes it slow. A pure function of the gauges of an interval and of what was tried before.
 */

import * as Memory from "./Memory.ts";
import type { Pull } from "./Pull.ts";
import type { StageLoad } from "./StageLoad.ts";

/** A stage whose concurrency may be changed, and how far. */
export interface Knob {
  readonly stage: string;
  readonly least: number;
  readonly most: number;
}

export interface Proposal {
  readonly stage: string;
  readonly direction: Memory.Direction;
  readonly from: number;
  readonly to: number;
  /** Slots that are in use at most, at present. */
  readonly used: number;
  /** What the gauges show that speaks for it. */
  readonly reason: string;
}

export interface Evidence {
  readonly loads: readonly StageLoad[];
  /** Strongest first. */
  readonly pulls: readonly Pull[];
  /** The most slots of each stage that were in use at once. */
  readonly peaks: ReadonlyMap<string, number>;
  readonly memories: ReadonlyMap<string, Memory.Memory>;
  readonly now: number;
}

/** Steps while little is known, and later. */
const STRIDE = 3;
const STEP = 1.6;
/** A growth must promise this share of throughput. */
const WORTH = 0.02;
/** A service whose slots are less busy than this has what it needs. */
const FULL = 0.8;
/** Less is tried while at least this share of the slots that are used at most is in use. */
const IN_WORK = 0.5;
/** Share of all calls in service or waiting that a stage holds whose crowding is worth a trial. */
const HOLDS = 0.4;

const percent = (share: number): string => `${Math.round(100 * share)} %`;

const growth = ({ loads, memories, now, pulls }: Evidence, knobs: ReadonlyMap<string, Knob>): Proposal | null => {
  // Until enough groups are in flight, no service shows what it lacks.
  const groups = pulls.filter(({ stage }) => stage === "rollout" && (memories.get(stage)?.up ?? null) === null);
  for (const { gain, stage } of [...groups, ...pulls]) {
    const knob = knobs.get(stage);
    const load = loads.find(({ name }) => name === stage);
    if (knob === undefined || load === undefined || gain === null) continue;
    const { busy, concurrency, kind, queue } = load;
    if (kind === "service" && busy < FULL) continue;
    if (gain * concurrency < WORTH) continue;
    const memory = memories.get(stage) ?? Memory.empty;
    const factor = memory.up === null ? Math.min(STRIDE, Math.max(2, 1 + queue / concurrency)) : STEP;
    const to = Memory.next(memory, "up", concurrency, factor, now);
    if (to === null) continue;
    const bounded = Math.min(knob.most, to);
    if (bounded <= concurrency) continue;
    const reason = `${percent(busy)} of its slots busy, ${queue.toFixed(1)} waiting`;
    return { stage, direction: "up", from: concurrency, to: bounded, used: concurrency, reason };
  }
  return null;
};

const less = ({ loads, memories, now, peaks }: Evidence, knobs: ReadonlyMap<string, Knob>): Proposal | null => {
  const services = loads.filter(({ kind }) => kind === "service");
  const held = ({ queue, running }: StageLoad): number => queue + running;
  const total = services.reduce((sum, load) => sum + held(load), 0);
  for (const load of [...services].sort((a, b) => held(b) - held(a))) {
    const knob = knobs.get(load.name);
    if (knob === undefined || held(load) < HOLDS * total) continue;
    const { concurrency, name, running } = load;
    // Slots that stay empty crowd nobody: what counts are those in use.
    const used = Math.min(concurrency, Math.max(1, Math.round(peaks.get(name) ?? running)));
    if (running < IN_WORK * used) continue;
    const memory = memories.get(name) ?? Memory.empty;
    const to = Memory.next(memory, "down", used, memory.down === null && memory.up === null ? STRIDE : STEP, now);
    if (to === null || to >= used || to < knob.least) continue;
    const reason = `it holds ${percent(held(load) / total)} of the calls, ${running.toFixed(1)} in service`;
    return { stage: name, direction: "down", from: concurrency, to, used, reason };
  }
  return null;
};

/** The change to try next; null where nothing is worth one. `bound`: the learner or admission sets the pace, so that crowding costs nothing. */
export const propose = (evidence: Evidence, knobs: ReadonlyMap<string, Knob>, bound: boolean): Proposal | null => {
  const more = growth(evidence, knobs);
  const fewer = bound ? null : less(evidence, knobs);
  if (more === null || fewer === null) return more ?? fewer;
  // A stage that was worse with more slots may be better with fewer; else the two take turns.
  const { down, up } = evidence.memories.get(fewer.stage) ?? Memory.empty;
  const first = more.stage === fewer.stage && up?.worse === true && (down === null || down.until < up.until);
  return first ? fewer : more;
};
