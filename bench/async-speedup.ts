/**
 * Measures what asynchrony gains where episodes are slow and uneven: 8 groups of 16, 5 turns, 128 slots. A step's
 * latency is lognormal(1) with a mean of one unit, an update takes 5 units, eta is 4. The whole engine runs over a
 * null model. It is compared with the same run in virtual time, whose only limits are the slots and the admission
 * rule.
 */
import { Clock, Effect } from "effect";
import { stream } from "../src/domain/Random.ts";
import * as Simulator from "../src/tools/simulation/run.ts";
import type { Bench, Figure, Measured } from "./Bench.ts";
import { type ExactClock, exactClock } from "./exactClock.ts";
import { draw } from "./latency.ts";
import { engineRun, idealShape, type NullRun } from "./nullRun.ts";

/** Mean step latency, milliseconds. */
const UNIT = 60;

const shape: NullRun = {
  mode: "async",
  order: "completion",
  maxStaleness: 4,
  groups: 8,
  groupSize: 16,
  turns: 5,
  windows: 40,
  slots: 128,
  step: (group, member, turn) =>
    draw("lognormal(1)", UNIT, stream({ seed: 1, purpose: "play", counters: [group, member, turn] })),
  update: 5 * UNIT,
};

const cases: Readonly<Record<string, NullRun>> = {
  lockstep: { ...shape, mode: "lockstep", order: "admission", windows: 6 },
  sync: { ...shape, mode: "sync", order: "admission", windows: 10 },
  "async, windows by completion": shape,
  "async, windows by admission": { ...shape, order: "admission" },
};

/** Units per window, the first tenth (while the pipeline fills) left out. */
const unitsPerWindow = (consumedAt: readonly number[]): number => {
  const from = Math.floor(consumedAt.length / 10);
  return (consumedAt.at(-1)! - consumedAt[from]!) / (consumedAt.length - 1 - from) / UNIT;
};

interface StepSeconds {
  readonly engine: number;
  readonly ideal: number;
}

const measureCase = (run: NullRun, clock: ExactClock): Effect.Effect<StepSeconds> =>
  Effect.map(Effect.provideService(engineRun(run), Clock.Clock, clock), (consumedAt) => ({
    engine: unitsPerWindow(consumedAt),
    ideal: unitsPerWindow(Simulator.run(idealShape(run)).consumedAt),
  }));

const measure: Effect.Effect<Measured> = Effect.gen(function* () {
  const clock = yield* exactClock;
  const figures: Figure[] = [];
  const paces = new Map<string, StepSeconds>();
  for (const [name, run] of Object.entries(cases)) {
    const pace = yield* measureCase(run, clock);
    paces.set(name, pace);
    figures.push(
      {
        name: `${name}: throughput over the ceiling`,
        value: pace.ideal / pace.engine,
        unit: "",
        target: { atLeast: 0.95 },
      },
      {
        name: `${name}: a window`,
        value: pace.engine,
        unit: "units",
        note: `${pace.ideal.toFixed(2)} in virtual time`,
      },
    );
  }
  for (const [name, { engine, ideal }] of paces) {
    if (!name.startsWith("async")) continue;
    for (const baseline of ["lockstep", "sync"]) {
      const other = paces.get(baseline)!;
      figures.push({
        name: `${name}: speed-up over ${baseline}`,
        value: other.engine / engine,
        unit: "x",
        target: { atLeast: Math.round(95 * (other.ideal / ideal)) / 100 },
        note: `${(other.ideal / ideal).toFixed(2)} in virtual time`,
      });
    }
  }
  const late = clock.lateness;
  figures.push({ name: "lateness of a timer, mean", value: late.reduce((a, b) => a + b, 0) / late.length, unit: "ms" });
  return () => figures;
});

export const bench: Bench = {
  question: "what does asynchrony gain at RAGEN's shape with uneven step latency?",
  parts: [() => Effect.runPromise(measure)],
};
