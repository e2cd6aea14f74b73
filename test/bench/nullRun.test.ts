import { expect, it } from "@effect/vitest";
import { Effect } from "effect";
import { draw } from "../../bench/latency.ts";
import { engineRun, idealShape, type NullRun } from "../../bench/nullRun.ts";
import { inVirtualTime } from "../../bench/virtualClock.ts";
import { stream } from "../../src/domain/Random.ts";
import { run } from "../../src/tools/simulation/run.ts";

const shape: NullRun = {
  mode: "async",
  order: "admission",
  maxStaleness: 2,
  groups: 4,
  groupSize: 4,
  turns: 3,
  windows: 8,
  // Room for every episode that admission allows.
  slots: 48,
  step: (group, member, turn) =>
    draw("lognormal(1)", 20, stream({ seed: 1, purpose: "play", counters: [group, member, turn] })),
  update: 60,
};
const cases: readonly NullRun[] = [
  { ...shape, mode: "lockstep" },
  { ...shape, mode: "sync" },
  shape,
  { ...shape, order: "completion" },
];

it.effect.each(cases)("the engine consumes windows when the simulator does: $mode, by $order", (given) =>
  Effect.gen(function* () {
    const engine = yield* inVirtualTime(engineRun(given));
    const ideal = run(idealShape(given)).consumedAt;
    expect(engine).toHaveLength(given.windows);
    expect(Math.max(...ideal.map((at, window) => Math.abs(at - engine[window]!)))).toBeLessThan(1e-2);
  }),
);
