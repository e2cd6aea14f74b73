/** Measures a service by blocks of calls. */
import { CallTimes, callsBetween, type LevelBand } from "../../../src/flow/CallTimes.ts";
import * as Measure from "../../../src/tools/tuning/Measure.ts";

/** Blocks of calls, all begun at `level` and ended in their block. */
export const blocks = (count: number, calls: number, level: number, ms: number): readonly (readonly LevelBand[])[] =>
  Array.from({ length: count }, () => {
    const times = new CallTimes();
    for (let call = 0; call < calls; call++) {
      times.begin(level);
      times.end(level, ms);
    }
    return callsBetween([], times.sample());
  });

export const measured = (...all: readonly (readonly (readonly LevelBand[])[])[]): Measure.Measure =>
  all.flat().reduce(Measure.add, Measure.empty);
