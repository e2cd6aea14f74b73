/** A line of stages in both forms: run by the engine on exact timers, and in virtual time, with the same service times item by item. */
import { Clock, Effect } from "effect";
import { stream } from "../src/domain/Random.ts";
import { mean } from "../src/domain/Statistics.ts";
import * as Pipeline from "../src/flow/Pipeline.ts";
import * as Stage from "../src/flow/Stage.ts";
import * as Simulator from "../src/tools/simulation/line.ts";
import type { Figure } from "./Bench.ts";
import { exactClock } from "./exactClock.ts";
import { draw, type Kind, kinds } from "./latency.ts";

export interface TimedStage {
  readonly name: string;
  readonly inbox: number;
  readonly concurrency: number;
  /** Mean service time, milliseconds. */
  readonly mean: number;
}

/** Shortest service time, milliseconds: a hand-off's cost counts against no less than this. */
export const SHORTEST = 10;

/** Service times, [stages][items]: never below `SHORTEST`, the part above it of the given kind. */
export const serviceTimes = (
  kind: Kind,
  stages: readonly TimedStage[],
  items: number,
  seed: number,
): readonly (readonly number[])[] =>
  stages.map(({ mean }, stage) =>
    Array.from(
      { length: items },
      (_, item) => SHORTEST + draw(kind, mean - SHORTEST, stream({ seed, purpose: "play", counters: [stage, item] })),
    ),
  );

/** When each item leaves the last stage, in order of leaving, milliseconds of the clock after the start. */
export const engineLine = (
  stages: readonly TimedStage[],
  times: readonly (readonly number[])[],
  items: number,
): Effect.Effect<readonly number[]> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock;
    const now = (): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6;
    const left: number[] = [];
    const flows = yield* Effect.forEach(stages, ({ name, inbox, concurrency }, index) =>
      Stage.flow({
        name,
        inbox,
        concurrency,
        run: (item: number) => Effect.as(Effect.sleep(times[index]![item]!), item),
      }),
    );
    const sink = yield* Stage.flow({
      name: "sink",
      inbox: 1,
      concurrency: 1,
      run: () => Effect.sync(() => void left.push(now())),
    });
    const source = Pipeline.fromIterable(Array(items).keys());
    const start = now();
    yield* flows.reduce((line, stage) => line.to(stage), source).to(sink).run;
    return left.map((at) => at - start);
  });

export interface Timed {
  readonly left: readonly number[];
  /** Mean lateness of a timer, milliseconds. */
  readonly late: number;
}

/** `engineLine` in real time. */
export const timedLine = (
  stages: readonly TimedStage[],
  times: readonly (readonly number[])[],
  items: number,
): Promise<Timed> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const clock = yield* exactClock;
      const left = yield* Effect.provideService(engineLine(stages, times, items), Clock.Clock, clock);
      return { left, late: mean(clock.lateness) };
    }),
  );

export const idealLine = (
  stages: readonly TimedStage[],
  times: readonly (readonly number[])[],
  items: number,
): readonly number[] =>
  Simulator.line(
    items,
    stages.map(({ inbox, concurrency }, index) => ({ inbox, concurrency, service: (item) => times[index]![item]! })),
  );

/** Time over the middle of the items left, between the shares `from` and `to`: neither filling nor draining counts. */
export const middle = (left: readonly number[], from = 0.1, to = 0.9): number =>
  left[Math.floor(to * (left.length - 1))]! - left[Math.floor(from * (left.length - 1))]!;

/** The measurement of one line with drawn service times: the bench's own figures, and the lateness of the timers. */
export interface LineMeasure {
  readonly late: readonly number[];
}

/**
 * Measures a line under every kind of latency, with service times drawn from three seeds. `report` makes the figures of one kind from the
 * three measures; the last figure is how late the timers were.
 */
export const overKinds = async <M extends LineMeasure>(
  stages: readonly TimedStage[],
  items: number,
  measure: (times: readonly (readonly number[])[]) => Promise<M>,
  report: (kind: Kind, measures: readonly M[]) => readonly Figure[],
): Promise<readonly Figure[]> => {
  const figures: Figure[] = [];
  const late: number[] = [];
  for (const kind of kinds) {
    const measures: M[] = [];
    for (const seed of [1, 2, 3]) measures.push(await measure(serviceTimes(kind, stages, items, seed)));
    figures.push(...report(kind, measures));
    late.push(...measures.flatMap((one) => one.late));
  }
  return [...figures, { name: "lateness of a timer, mean", value: mean(late), unit: "ms" }];
};
